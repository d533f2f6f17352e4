"""Which registers an instruction reads and writes, as sets.

    effects(v_add_co_u32 v0, vcc, v1, v2)   vector reads {1, 2}, vector writes {0}, scalar writes {106, 107}

Lane-wise and scalar instructions follow their signature in the semantic table; for the others the rules are by class,
and where a class is not known the answer errs towards more: every register operand is both read and written. The
translator only ever asks whether two sets meet, to keep instructions in order that must be.

Vector registers are rows of the unified file: v[k] is row k, a[k] row accum_offset + k. Scalar registers use the
hardware numbering; SCC stands as 253. A partial write (inactive lanes keep their value) also counts as a read.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.gfx942.inst import EXEC, M0, VCC, Inst, InstOperand
from argus.machine.semantics import SALU, VALU
from argus.machine.semantics.table import IMPLICIT, MachineOp

SCC = 253
HWREG = 1000
"""Hardware register n stands as HWREG + n."""
WIDE = frozenset({"u64", "f64", "i64", "mask", "old64"})


@dataclass(frozen=True, slots=True)
class Effects:
    """Rows and scalar registers read and written."""

    vector_reads: frozenset[int]
    vector_writes: frozenset[int]
    scalar_reads: frozenset[int]
    scalar_writes: frozenset[int]


def row_of(operand: InstOperand, accum_offset: int) -> int:
    """The row of a vector operand's first register."""
    return operand.value + (accum_offset if operand.kind == "a" else 0)


def rows_of(operand: InstOperand, accum_offset: int) -> set[int]:
    if operand.kind not in ("v", "a"):
        return set()
    first = row_of(operand, accum_offset)
    return set(range(first, first + operand.count))


def scalars_of(operand: InstOperand) -> set[int]:
    if operand.kind == "s":
        return set(range(operand.value, operand.value + operand.count))
    if operand.kind == "special" and operand.value == SCC:
        return {SCC}
    if operand.kind == "special" and operand.value == 251:
        return {VCC, VCC + 1}
    if operand.kind == "special" and operand.value == 252:
        return {EXEC, EXEC + 1}
    return set()


def hardware_operand(inst: Inst) -> tuple[InstOperand, ...]:
    """The operand that names a hardware register."""
    if inst.op == "s_getreg_b32":
        return inst.operands[1:2]
    return inst.operands[:1] if inst.op in ("s_setreg_b32", "s_setreg_imm32_b32") else ()


_KNOWN: dict[tuple[tuple[int, ...], int], Effects] = {}
_MOST_KNOWN = 1 << 16


def effects(inst: Inst, accum_offset: int) -> Effects:
    """The registers of an instruction; remembered by its words, as unrolled code repeats them."""
    key = (inst.words, accum_offset)
    found = _KNOWN.get(key)
    if found is None:
        op = SALU.get(inst.op) or VALU.get(inst.op)
        found = _class_effects(inst, accum_offset) if op is None else _table_effects(inst, op, accum_offset)
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = found
    return found


def _table_effects(inst: Inst, op: MachineOp, accum_offset: int) -> Effects:
    vector_reads: set[int] = set()
    vector_writes: set[int] = set()
    scalar_reads: set[int] = set()
    scalar_writes: set[int] = set()
    vector = inst.op.startswith("v_")
    operands = list(inst.operands)
    for word in op.results:
        if word == "scc":
            scalar_writes.add(SCC)
        elif word == "exec":
            scalar_writes |= {EXEC, EXEC + 1}
        else:
            operand = operands.pop(0)
            vector_writes |= rows_of(operand, accum_offset)
            scalar_writes |= scalars_of(operand)
    if "v_cmpx" in inst.op:
        scalar_writes |= {EXEC, EXEC + 1}
    for operand in operands:
        vector_reads |= rows_of(operand, accum_offset)
        scalar_reads |= scalars_of(operand)
    for word in op.args:
        if word == "scc":
            scalar_reads.add(SCC)
        elif word == "vcc":
            scalar_reads |= {VCC, VCC + 1}
        elif word == "exec":
            scalar_reads |= {EXEC, EXEC + 1}
        elif word in IMPLICIT and not vector:
            scalar_reads |= scalar_writes
    if vector:
        vector_reads |= vector_writes
        scalar_reads |= {EXEC, EXEC + 1}
    return Effects(*map(frozenset, (vector_reads, vector_writes, scalar_reads, scalar_writes)))


def _class_effects(inst: Inst, accum_offset: int) -> Effects:
    rows = [rows_of(operand, accum_offset) for operand in inst.operands]
    scalars = [scalars_of(operand) for operand in inst.operands]
    all_rows = set().union(*rows) if rows else set()
    all_scalars = set().union(*scalars) if scalars else set()
    name = inst.op
    if name.startswith(("v_mfma", "v_smfmac")):
        return Effects(frozenset(all_rows), frozenset(rows[0]), frozenset(all_scalars), frozenset())
    memory = name.startswith(("ds_", "buffer_", "global_", "flat_", "scratch_", "tbuffer_"))
    if memory:
        reads = all_scalars | {EXEC, EXEC + 1, M0}
        if "_store" in name or name.startswith("ds_write"):
            return Effects(frozenset(all_rows), frozenset(), frozenset(reads), frozenset())
        written = rows[0] if rows else set()
        return Effects(frozenset(all_rows), frozenset(written), frozenset(reads), frozenset())
    if name.startswith(("s_load", "s_buffer_load")):
        reads = set().union(*scalars[1:])
        return Effects(frozenset(), frozenset(), frozenset(reads), frozenset(scalars[0]))
    if name in ("v_readlane_b32", "v_readfirstlane_b32"):
        reads = set().union(*scalars[1:]) | {EXEC, EXEC + 1}
        return Effects(frozenset(all_rows), frozenset(), frozenset(reads), frozenset(scalars[0]))
    if name in ("s_setreg_b32", "s_setreg_imm32_b32"):
        register = HWREG + (inst.operands[0].value & 63)
        return Effects(frozenset(), frozenset(), frozenset(all_scalars), frozenset({register}))
    everything = frozenset(all_scalars | {EXEC, EXEC + 1, M0, SCC})
    return Effects(frozenset(all_rows), frozenset(all_rows), everything, frozenset(all_scalars | {SCC}))
