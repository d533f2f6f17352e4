"""gfx942 machine code to `Inst`: our own decoder, driven by `encoding_table.json`.

    decode(bytes.fromhex("14411402"))  ->  v_add_f32_e32 v10, v20, v32

A row of the table is compiled once into a list of (shift, mask, operands) slots; decoding is then: find the family
from the leading bits, the row from the opcode, and index one list per operand. Results are remembered by the
instruction's words, because unrolled kernels repeat themselves.

Bits that must be zero are checked, a register beyond the end of the file or a reserved source is an error:
`DecodeError` carries the offset and the words, so that a report can name the place. The decoder does not know what is
code and what is data: padding behind a kernel decodes as whatever it looks like.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache

from argus.gfx942.encoding import FIELDS, OPCODE, TWO_WORDS, EncodingRow, OperandForm, family_of, table
from argus.gfx942.encoding_mods import ModReader, Reserved, address_operands, mod_reader
from argus.gfx942.encoding_operands import LITERAL_FOLLOWS, sources
from argus.gfx942.inst import FLAT_SCRATCH, VCC, Inst, InstOperand, Mod


class DecodeError(ValueError):
    """No gfx942 instruction at this place."""

    def __init__(self, pc: int, words: tuple[int, ...], why: str) -> None:
        shown = " ".join(f"{word:08x}" for word in words)
        super().__init__(f"cannot decode the instruction at offset {pc:#x} ({shown}): {why}")
        self.pc, self.words, self.why = pc, words, why


Slot = tuple[int, int, tuple[InstOperand | None, ...], int, tuple[InstOperand | None, ...]]
"""Shift, mask, operands, position of the accumulator bit (64: none), operands if that bit is set."""

NO_ACC = 64
_ACC_BIT: dict[str, dict[str, int]] = {
    "VOP3P": {"vdst": 15, "src2": 15, "src0": 59, "src1": 60},
    "DS": dict.fromkeys(("vdst", "addr", "data0", "data1"), 25),
    "FLAT": dict.fromkeys(("vdst", "data"), 55),
    "MUBUF": {"vdata": 55},
    "MTBUF": {"vdata": 55},
}
_ACC_FAMILY = {"FLAT_RTN": "FLAT", "GLOBAL": "FLAT", "GLOBAL_RTN": "FLAT", "SCRATCH": "FLAT", "MUBUF_LDS": "MUBUF"}
_BRANCHES = frozenset({"s_branch", "s_call_b64", "s_cbranch_i_fork"})
_SCALED = {"sbase": 2, "srsrc": 4}
_VCC_OPERAND = InstOperand("s", VCC, 2)


class _DecodePlan:
    """A table row made ready for decoding."""

    __slots__ = ("address", "branch", "mods", "row", "size", "slots")

    def __init__(self, row: EncodingRow) -> None:
        self.row = row
        self.size = 8 if row.family in TWO_WORDS else 4
        self.branch = row.op in _BRANCHES or row.op.startswith("s_cbranch")
        self.branch = self.branch and any(form.field == "simm16" for form in row.operands)
        self.address = address_operands(row)
        self.slots: list[Slot] = [_slot(row, form) for form in row.operands]
        self.mods: ModReader = mod_reader(row)


def _whole_group(group: InstOperand | None) -> bool:
    """Whether a base or resource lies inside one register file: s[100:103] would reach into flat_scratch."""
    return group is not None and not group.value < FLAT_SCRATCH < group.value + group.count


def _slot(row: EncodingRow, form: OperandForm) -> Slot:
    """How to fetch one operand of a row."""
    if form.field == "vcc":
        return 0, 0, (_VCC_OPERAND,), NO_ACC, ()
    if form.dwords == 0:
        return 0, 0, (None,), NO_ACC, ()
    if form.kind == "k":
        return 0, 0, (LITERAL_FOLLOWS,), NO_ACC, ()
    shift, bits = FIELDS[row.family][form.field]
    mask = (1 << bits) - 1
    if form.field in _SCALED:
        scale = _SCALED[form.field]
        scalars = sources("s", form.dwords, 7)
        groups = (scalars[code * scale & 127] for code in range(mask + 1))
        return shift, mask, tuple(group if _whole_group(group) else None for group in groups), NO_ACC, ()
    if form.kind in "mc":
        acc = _ACC_BIT[_ACC_FAMILY.get(row.family, row.family)][form.field]
        prefix = "c" if form.kind == "c" else ""
        plain = sources(prefix + "v", form.dwords, bits)
        return shift, mask, plain, acc, sources(prefix + "a", form.dwords, bits)
    return shift, mask, sources(form.kind, form.dwords, bits), NO_ACC, ()


@cache
def _plans() -> dict[str, dict[int, _DecodePlan]]:
    return {family: {opcode: _DecodePlan(row) for opcode, row in rows.items()} for family, rows in table().items()}


def _find_plan(word: int) -> _DecodePlan:
    """The plan for the instruction that starts with `word`."""
    family = family_of(word)
    if not family or family not in OPCODE:
        raise Reserved("no instruction family has these leading bits")
    shift, bits = OPCODE[family]
    opcode = word >> shift & (1 << bits) - 1
    plans = _plans()
    if family in ("FLAT", "GLOBAL") and word >> 16 & 1 and opcode in plans[family + "_RTN"]:
        return plans[family + "_RTN"][opcode]
    if family == "MUBUF" and word >> 16 & 1 and opcode in plans["MUBUF_LDS"]:
        return plans["MUBUF_LDS"][opcode]
    plan = plans.get(family, {}).get(opcode)
    if plan is None and family.endswith(("_SDWA", "_DPP")):
        plain = plans[family[:4]].get(opcode)
        plan = plain if plain is not None and not plain.row.operands else None
    if plan is None:
        raise Reserved(f"{family} has no opcode {opcode}")
    return plan


def row_of(words: tuple[int, ...]) -> EncodingRow:
    """The table row of an instruction that has been decoded."""
    return _find_plan(words[0]).row


Decoded = tuple[int, str, str, tuple[InstOperand, ...], dict[str, Mod], bool, tuple[int, ...]]
"""Everything of an `Inst` that does not depend on its place: size, op, enc, operands, mods, is a branch, words."""


def _decode_words(number: int, available: int) -> Decoded:
    """Decode the 64-bit number; `available` bytes of it are real."""
    plan = _find_plan(number & 0xFFFFFFFF)
    size = plan.size
    if size > available:
        raise Reserved("the code ends inside the instruction")
    row = plan.row
    if number & row.zero or number & row.one != row.one:
        raise Reserved("reserved bits have the wrong value")
    operands = [
        (accumulator if number >> acc & 1 else plain)[number >> shift & mask]
        for shift, mask, plain, acc, accumulator in plan.slots
    ]
    if plan.address is not None:
        operands = plan.address(number, operands)
    whole: list[InstOperand] = []
    for operand in operands:
        if operand is None:
            raise Reserved("an operand field names no constant and no register, or a group at an odd register")
        if operand is LITERAL_FOLLOWS:
            if plan.size == 8 or available < 8:
                why = "no literal is allowed here" if plan.size == 8 else "the code ends inside the instruction"
                raise Reserved(why)
            size = 8
            operand = InstOperand("lit", number >> 32)
        whole.append(operand)
    mods: dict[str, Mod] = {}
    modified = plan.mods(number, tuple(whole), mods)
    words = (number & 0xFFFFFFFF,) if size == 4 else (number & 0xFFFFFFFF, number >> 32)
    return size, row.op, row.enc, modified, mods, plan.branch, words


CACHE_LIMIT = 1 << 20
_cache: dict[int, Decoded] = {}
_PAIR: Callable[[bytes, int], tuple[int]] = struct.Struct("<Q").unpack_from


def decode(code: bytes, pc: int = 0) -> Inst:
    """The instruction at byte offset `pc` of `code`; raises `DecodeError` if there is none."""
    available = len(code) - pc
    if pc < 0 or available < 4:
        raise DecodeError(pc, (), "the code ends here")
    if available >= 8:
        number = _PAIR(code, pc)[0]
    else:
        number = int.from_bytes(code[pc : pc + 4], "little")
    found = _cache.get(number) if available >= 8 else None
    if found is None:
        try:
            found = _decode_words(number, available)
        except Reserved as why:
            words = (number & 0xFFFFFFFF, number >> 32) if available >= 8 else (number,)
            raise DecodeError(pc, words, str(why)) from None
        if len(_cache) >= CACHE_LIMIT:
            _cache.clear()
        if available >= 8:
            _cache[number] = found
    size, op, enc, operands, mods, branch, own_words = found
    target = pc + 4 + 4 * _signed16(number) if branch else None
    return Inst(pc, size, op, enc, operands, mods, target, own_words)


def _signed16(number: int) -> int:
    low = number & 0xFFFF
    return low - 0x10000 if low & 0x8000 else low


def decode_all(code: bytes, start: int = 0, end: int | None = None) -> list[Inst]:
    """All instructions of `code[start:end]`, back to back; their `pc` is the offset in `code`."""
    limit = len(code) if end is None else min(end, len(code))
    window = code[:limit]
    result: list[Inst] = []
    pc = start
    while pc < limit:
        inst = decode(window, pc)
        result.append(inst)
        pc += inst.size
    return result
