"""Decoded instructions as operations of the clock: which unit, how long, which registers, which counter.

    operations(insts)  -> {0x1a40: Op(unit=MATRIX, clocks=32, reads=v2..v5, writes=a0..a15, c=a0..a15, ...), ...}

Everything comes from the instruction table (`argus.gfx942.instructions`) and the matrix table; only rates that neither
holds are named here: 32-bit integer multiplies run at a quarter of the rate (LLVM SISchedule.td), packed f32 arithmetic
does not run beside the matrix core.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from argus.clock.matrix import RESULT_CLOCKS, ResultClocks, result_clocks
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.program import Op, Unit
from argus.gfx942.disasm import text
from argus.gfx942.hazards import registers, vector_keys
from argus.gfx942.inst import Inst
from argus.gfx942.instructions import InstSpec, spec
from argus.gfx942.mfma import MFMA, MfmaShape
from argus.gfx942.waits import decode

QUARTER_RATE = re.compile(r"v_mul_(lo|hi)_[iu]32$|v_mad_[iu]64_[iu]32$")
NOT_BESIDE_MATRIX = re.compile(r"v_pk_(fma|mul|add)_f32$")
SPARSE = re.compile(r"v_smfmac_(f32|i32)_(16x16|32x32)x(\d+)_(\w+)$")

_UNITS: dict[str, Unit] = {
    "valu": Unit.VALU,
    "trans": Unit.VALU,
    "mfma": Unit.MATRIX,
    "salu": Unit.SALU,
    "smem": Unit.SMEM,
    "lds": Unit.LDS,
    "vmem": Unit.VMEM,
    "branch": Unit.BRANCH,
    "barrier": Unit.BARRIER,
    "waitcnt": Unit.WAIT,
    "nop": Unit.NOP,
}
_BY_NAME: dict[str, Unit] = {
    "s_nop": Unit.NOP,
    "s_sleep": Unit.SLEEP,
    "s_setprio": Unit.PRIORITY,
    "s_endpgm": Unit.END,
    "s_waitcnt": Unit.WAIT,
    "s_barrier": Unit.BARRIER,
}


def operations(insts: Iterable[Inst], parameters: Parameters = PARAMETERS) -> dict[int, Op]:
    """The operations of a kernel by pc, numbered in order."""
    return {inst.pc: operation(inst, index, parameters) for index, inst in enumerate(insts)}


def operation(inst: Inst, index: int, parameters: Parameters = PARAMETERS) -> Op:
    known = spec(inst.op)
    unit = _BY_NAME.get(inst.op) or _UNITS.get(known.cls, Unit.SALU)
    reads, writes, c = _register_sets(inst, unit)
    row = _matrix_row(inst.op) if unit is Unit.MATRIX else None
    return Op(
        index=index,
        pc=inst.pc,
        text=text(inst),
        unit=unit,
        clocks=_clocks(inst.op, known, row, parameters),
        reads=reads,
        writes=writes,
        c=c,
        matrix=row,
        result=_result(row),
        alone=NOT_BESIDE_MATRIX.match(inst.op) is not None,
        vm="vm" in known.counters,
        lgkm="lgkm" in known.counters,
        waits=decode(inst.operands[0].value) if unit is Unit.WAIT else None,
        amount=_amount(inst, unit),
        follow=inst.pc + inst.size,
    )


def _clocks(op: str, known: InstSpec, row: MfmaShape | None, parameters: Parameters) -> int:
    if row is not None:
        return row.cycles
    if known.cls == "trans" or QUARTER_RATE.match(op):
        return int(parameters["quarter_rate_clocks"])
    return int(parameters["valu_clocks"])


def _matrix_row(op: str) -> MfmaShape | None:
    """The matrix table's entry; a sparse instruction takes the time of the dense one of half its depth."""
    if op in MFMA:
        return MFMA[op]
    sparse = SPARSE.match(op)
    if sparse is None:
        return None
    kind, shape, depth, elements = sparse.groups()
    return MFMA.get(f"v_mfma_{kind}_{shape}x{int(depth) // 2}_{elements}")


def _result(row: MfmaShape | None) -> ResultClocks | None:
    if row is None:
        return None
    return RESULT_CLOCKS.get(row.name) or result_clocks(row)


def _register_sets(inst: Inst, unit: Unit) -> tuple[int, int, int]:
    """Vector registers read, written, and read as the C operand of a matrix instruction (for sparse ones: D)."""
    if unit is not Unit.MATRIX:
        used = registers(inst)
        return _mask(used.reads), _mask(used.writes), 0
    d, a, b, last = (_mask(vector_keys(operand)) for operand in inst.operands[:4])
    return (a | b | last, d, d) if inst.op.startswith("v_smfmac") else (a | b, d, last)


def _mask(keys: Iterable[int]) -> int:
    return sum(1 << key for key in keys)


def _amount(inst: Inst, unit: Unit) -> int:
    if unit not in (Unit.NOP, Unit.SLEEP, Unit.PRIORITY) or not inst.operands:
        return 1
    value = inst.operands[0].value
    return (value & 15) + 1 if unit is Unit.NOP else value & 127 if unit is Unit.SLEEP else value & 3
