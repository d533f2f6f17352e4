"""From the number in an operand field to an `InstOperand`, by table lookup.

A 9-bit source field means, in order: 0..101 SGPRs, 102..127 named scalar registers, 128..208 the integers 0..64 and
-1..-16, 235..239 and 251..254 hardware values, 240..248 nine floats, 255 the literal word, 256..511 VGPRs.

    sources("x", 1)[20]  -> s20        sources("x", 1)[193] -> imm -1
    sources("x", 2)[276] -> v[20:21]   sources("x", 1)[242] -> fimm 0x3f800000

A list is made once per (kind, width) and indexed by the field, so decoding an operand costs one index. `None` marks a
number that names nothing; the decoder turns it into an error. Scalar groups must start at an even register (a multiple
of four from four dwords on); hardware ignores the low bits, and so do these lists. Vector groups must start at an even
register; an odd one is an error.
"""

from __future__ import annotations

from functools import cache

from argus.gfx942.inst import EXEC, M0, TTMP, VCC, InstOperand

FLOAT_BITS: dict[int, int] = {
    240: 0x3F000000,
    241: 0xBF000000,
    242: 0x3F800000,
    243: 0xBF800000,
    244: 0x40000000,
    245: 0xC0000000,
    246: 0x40800000,
    247: 0xC0800000,
    248: 0x3E22F983,
}
"""Inline floats: 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi), as single-precision bits."""

SPECIAL_NAMES: dict[int, str] = {
    125: "null",
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
    239: "src_pops_exiting_wave_id",
    251: "src_vccz",
    252: "src_execz",
    253: "src_scc",
    254: "src_lds_direct",
}
"""Hardware values readable as a source, by field number."""

LITERAL_FOLLOWS = InstOperand("lit", -1)
"""Stands in the lists for "the next word"; the decoder puts the word in."""

SGPRS = 102
VGPRS = 256
LDS_DIRECT = 254

OperandList = list[InstOperand | None]


def scalar(code: int, dwords: int) -> InstOperand | None:
    """The scalar register group a 7-bit field names."""
    start = code & -min(1 << (dwords - 1).bit_length(), 4)
    if code == 125:
        return InstOperand("special", 125, dwords)
    if start + dwords <= SGPRS or (dwords > 2 and start < SGPRS and start + dwords <= VCC):
        return InstOperand("s", start, dwords)
    if start >= TTMP and start + dwords <= M0:
        return InstOperand("s", start, dwords)
    if dwords <= 2 and code != start:
        return None
    if dwords == 1 or (dwords == 2 and (SGPRS <= start < TTMP or start == EXEC)):
        return InstOperand("s", start, dwords)
    return None


def source(code: int, dwords: int) -> InstOperand | None:
    """The operand an 8-bit scalar source field names."""
    if code < 128:
        return scalar(code, dwords)
    if code <= 192:
        return InstOperand("imm", code - 128)
    if code <= 208:
        return InstOperand("imm", 192 - code)
    if code in FLOAT_BITS:
        return InstOperand("fimm", FLOAT_BITS[code])
    if code == LDS_DIRECT and dwords != 1:
        return None
    if code in SPECIAL_NAMES:
        return InstOperand("special", code, dwords)
    return LITERAL_FOLLOWS if code == 255 else None


def vector(letter: str, dwords: int, odd: bool = False) -> OperandList:
    """VGPRs or AGPRs by their 8-bit number."""
    step = 1 if odd or dwords == 1 else 2
    registers: OperandList = [None] * VGPRS
    for number in range(0, VGPRS - dwords + 1, step):
        registers[number] = InstOperand("a" if letter == "a" else "v", number, dwords)
    return registers


@cache
def sources(kind: str, dwords: int, bits: int = 9) -> tuple[InstOperand | None, ...]:
    """The operands of a field of `bits` bits of the given kind."""
    none: OperandList = [None]
    match kind:
        case "v" | "a" | "odd":
            registers = vector(kind, dwords, odd=kind == "odd")
            return tuple(registers if bits <= 8 else none * 256 + registers)
        case "s":
            return tuple([scalar(code, dwords) for code in range(128)] + (none * 128 if bits == 8 else []))
        case "y":
            scalars = [source(code, dwords) if code != LDS_DIRECT else None for code in range(256)]
            return tuple(scalars + (none * 256 if bits == 9 else []))
        case "e":
            return tuple(
                [scalar(code, dwords) if code < 128 else None for code in range(256)] + vector("v", dwords, odd=True)
            )
        case "x":
            return tuple([source(code, dwords) for code in range(256)] + vector("v", dwords))
        case "cv" | "ca":
            inline = [source(code, dwords) if 128 <= code <= 248 else None for code in range(256)]
            return tuple(inline + vector(kind[1], dwords))
        case "i":
            return tuple(InstOperand("imm", value) for value in range(1 << bits))
    raise ValueError(f"no operand list for kind {kind!r}")
