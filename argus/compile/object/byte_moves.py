"""Which bytes of which registers a byte of a result is made from.

    v_perm_b32 v1, v3, v4, s0       with 0x07060302 in s0: bytes 0, 1 from v4's upper half, bytes 2, 3 from v3's
    v_lshlrev_b32 v5, 16, v4        bytes 2, 3 from the lower half of v4, bytes 0, 1 from nothing
    v_add_f32 v6, v5, v5            every byte from every byte of v5
    v_mad_u64_u32 v[2:3], s[0:1], v0, 3, v[2:3]      bytes of v2 from v0 and v2, not from v3 (`result_halves`)

Elements of 16 and 8 bits are packed into registers and taken out of them by these moves; everything else mixes all
bytes of its operands. Where an amount or a selector is not a constant, bytes are mixed too: more sources, never fewer.
"""

from __future__ import annotations

from collections.abc import Callable

from argus.compile.object.result_halves import dependence
from argus.compile.object.results import SCALAR
from argus.gfx942.hazards import registers, vector_keys
from argus.gfx942.inst import EXEC, Inst, InstOperand
from argus.machine.semantics.valu import VALU

Byte = tuple[int, int]
"""(register, byte of it)."""
Constant = Callable[[InstOperand], int | None]
"""The 32 bits of an operand, where they are known."""
ALL = range(4)
BYTEWISE = frozenset(
    {
        "v_mov_b32", "v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32", "s_mov_b32",
        "v_readfirstlane_b32", "v_and_b32", "v_or_b32", "v_or3_b32", "v_xor_b32", "v_bfi_b32", "v_cndmask_b32",
        "v_and_or_b32",
    }
)  # fmt: skip
"""Byte k of the result is made from bytes k of the operands (of a condition: from all of it)."""
MOVES_64 = frozenset({"v_mov_b64", "s_mov_b64"})
HALVES = frozenset({"v_pack_b32_f16", "v_cvt_pkrtz_f16_f32", "v_cvt_pk_u16_u32", "v_cvt_pk_i16_i32"})
"""The lower half from the first operand, the upper one from the second."""
CONDITION = {"v_cndmask_b32": 2}
"""Which source is a lane mask."""


def keys(operand: InstOperand) -> list[int]:
    """Registers of an operand, scalar ones behind SCALAR."""
    if operand.kind == "s":
        return [SCALAR + operand.value + k for k in range(operand.count)]
    return list(vector_keys(operand))


def made_from(inst: Inst, key: int, byte: int, constant: Constant) -> set[Byte]:
    """Bytes that byte `byte` of register `key`, which the instruction writes, is made from."""
    found = _moved(inst, key, byte, constant)
    return mixed(inst) if found is None else found


def mixed(inst: Inst) -> set[Byte]:
    """Every byte that the instruction reads."""
    use = registers(inst)
    read = (*use.reads, *(SCALAR + k for k in use.scalar_reads if k not in (EXEC, EXEC + 1)))
    return {(k, b) for k in read for b in ALL}


def _whole(operand: InstOperand) -> set[Byte]:
    return {(k, b) for k in keys(operand) for b in ALL}


def _part(operand: InstOperand, bits: range) -> set[Byte]:
    """Bytes of a register that hold some of its bits."""
    return {(k, bit // 8) for k in keys(operand)[:1] for bit in bits if 0 <= bit < 32}


def _moved(inst: Inst, key: int, byte: int, constant: Constant) -> set[Byte] | None:
    """For instructions that move bytes; None: all are mixed."""
    op, sources = inst.op, inst.operands[1:]
    if op == "v_swap_b32":
        first, second = (keys(o)[0] for o in inst.operands)
        return {(second if key == first else first, byte)}
    if inst.enc == "sdwa":
        return _selected(inst)
    if inst.enc == "dpp" or not inst.operands or key not in keys(inst.operands[0]):
        return None
    shape = VALU[op].shape if op in VALU else "plain"
    if shape in ("pk32", "pkmov") or op in MOVES_64:
        return _paired(inst, key, byte, shape)
    bits = range(8 * byte, 8 * byte + 8)
    if shape == "pk16":
        return _packed(inst, byte)
    if op in HALVES and not inst.mods.get("op_sel"):
        half, low = sources[byte // 2], range(byte % 2 * 8, byte % 2 * 8 + 8)
        return _part(half, low) if op == "v_pack_b32_f16" else _whole(half)
    if op in BYTEWISE:
        return _bytewise(inst, byte, constant)
    if op == "v_perm_b32":
        return _permuted(sources, byte, constant)
    if shape == "plain" and op in VALU and VALU[op].results[0] == "u64" and not inst.mods.get("clamp"):
        return _of_half(inst, keys(inst.operands[0]).index(key), constant)
    return _shifted(op, sources, bits, constant)


def _selected(inst: Inst) -> set[Byte] | None:
    """SDWA: of each operand the bytes it selects."""
    if inst.mods.get("dst_sel", "DWORD") != "DWORD":
        return None
    found = {one for one in mixed(inst) if one[0] >= SCALAR}
    for number, operand in enumerate(inst.operands[1:3]):
        chosen = str(inst.mods.get(f"src{number}_sel", "DWORD"))
        size = {"BYTE": 8, "WORD": 16}.get(chosen[:4], 32)
        start = size * int(chosen[-1]) if size < 32 else 0
        found |= _part(operand, range(start, start + size))
    return found


def _bytewise(inst: Inst, byte: int, constant: Constant) -> set[Byte]:
    sources = inst.operands[1:]
    bits = range(8 * byte, 8 * byte + 8)
    fixed = [constant(o) for o in sources]
    if inst.op == "v_and_b32" and any(c is not None and not c >> 8 * byte & 255 for c in fixed):
        return set()
    if inst.op == "v_and_or_b32" and any(c is not None and not c >> 8 * byte & 255 for c in fixed[:2]):
        return _part(sources[2], bits)
    found: set[Byte] = set()
    for number, operand in enumerate(sources):
        found |= _whole(operand) if CONDITION.get(inst.op) == number else _part(operand, bits)
    if inst.op in CONDITION and len(sources) <= CONDITION[inst.op]:
        found |= {one for one in mixed(inst) if one[0] >= SCALAR}
    return found


def _shifted(op: str, sources: tuple[InstOperand, ...], bits: range, constant: Constant) -> set[Byte] | None:
    if op in ("v_lshlrev_b32", "v_lshrrev_b32", "v_ashrrev_i32"):
        amount = constant(sources[0])
        if amount is None:
            return None
        moved = -(amount & 31) if op == "v_lshlrev_b32" else amount & 31
        top = _part(sources[1], range(31, 32)) if op == "v_ashrrev_i32" else set()
        return _part(sources[1], range(bits.start + moved, bits.stop + moved)) | top
    if op == "v_lshl_or_b32":
        amount = constant(sources[1])
        if amount is None:
            return None
        moved = amount & 31
        return _part(sources[0], range(bits.start - moved, bits.stop - moved)) | _part(sources[2], bits)
    if op == "v_bfe_u32":
        start, width = constant(sources[1]), constant(sources[2])
        if start is None or width is None:
            return None
        last = min(bits.stop, width & 31)
        return _part(sources[0], range(bits.start + (start & 31), last + (start & 31)))
    if op in ("v_alignbit_b32", "v_alignbyte_b32"):
        amount = constant(sources[2])
        if amount is None:
            return None
        moved = amount & 31 if op == "v_alignbit_b32" else 8 * (amount & 3)
        low = range(bits.start + moved, bits.stop + moved)
        return _part(sources[1], low) | _part(sources[0], range(low.start - 32, low.stop - 32))
    return None


def _of_half(inst: Inst, half: int, constant: Constant) -> set[Byte] | None:
    """All bytes of the registers that half of a 64-bit result depends on."""
    sources = inst.operands[len(VALU[inst.op].results) :]
    halves = dependence(inst.op, tuple(constant(operand) for operand in sources))
    if halves is None:
        return None
    rows = [(keys(sources[number]), at) for number, at in halves[half]]
    return {(where[at % len(where)], b) for where, at in rows if where for b in ALL}


def _permuted(sources: tuple[InstOperand, ...], byte: int, constant: Constant) -> set[Byte] | None:
    selector = constant(sources[2])
    if selector is None:
        return None
    which = selector >> 8 * byte & 255
    if which >= 12:
        return set()
    if which >= 8:
        return _whole(sources[0]) | _whole(sources[1])
    operand = sources[0] if which >= 4 else sources[1]
    return _part(operand, range(8 * (which & 3), 8 * (which & 3) + 8))


def _packed(inst: Inst, byte: int) -> set[Byte]:
    """Arithmetic on both 16-bit halves."""
    found: set[Byte] = set()
    for number, operand in enumerate(inst.operands[1:]):
        half = _bit(inst, "op_sel_hi", number, 1) if byte >= 2 else _bit(inst, "op_sel", number, 0)
        found |= _part(operand, range(16 * half, 16 * half + 16))
    return found


def _paired(inst: Inst, key: int, byte: int, shape: str) -> set[Byte]:
    """Result registers that are made each from its own part of the operands."""
    high = keys(inst.operands[0]).index(key)
    found: set[Byte] = set()
    for number, operand in enumerate(inst.operands[1:]):
        where = keys(operand)
        if not where:
            continue
        if shape == "pkmov":
            if number == high:
                found.add((where[_bit(inst, "op_sel", number, 0) % len(where)], byte))
        elif shape == "pk32":
            half = _bit(inst, "op_sel_hi", number, 1) if high else _bit(inst, "op_sel", number, 0)
            found |= {(where[half % len(where)], b) for b in ALL}
        else:
            found.add((where[high % len(where)], byte))
    return found


def _bit(inst: Inst, name: str, number: int, otherwise: int) -> int:
    row = inst.mods.get(name)
    return int(row[number]) if isinstance(row, tuple) and number < len(row) else otherwise
