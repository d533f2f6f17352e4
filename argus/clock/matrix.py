"""How soon the result of a matrix instruction can be used, in clocks after it was issued.

A matrix instruction of N passes occupies its SIMD's matrix core for 4 N clk. Who wants its result must in addition keep
the wait states of gfx942 (one wait state is one turn of the wave, 4 clk), after the instruction's own turn:

    32x32x8 bf16 (N = 8)      same C/D registers again   4 clk  -> the core itself paces an accumulate chain: 32 clk
                              overlapping C              40
                              A or B operand             48
                              VALU or memory             48

Correct code contains the s_nop that these demand, so the times rarely add to a real kernel; they are kept because a
chain through A or B (attention) is as slow as the table says, whoever fills the gap.

The wait states are those of `argus.gfx942.hazards`; here they become clocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from argus.gfx942.hazards import HazardRule, required
from argus.gfx942.inst import Inst, InstOperand
from argus.gfx942.mfma import MFMA, MfmaShape

TURN = 4


@dataclass(frozen=True, slots=True)
class ResultClocks:
    """Clocks from issue until a consumer may issue.

    same     the next matrix instruction's C, exactly these registers
    c_xdl    overlapping C of an XDL instruction;  c_other  of an f32 or f64 one
    ab       A or B of a matrix instruction
    valu     VALU read or write of the result;  memory  read by a memory instruction
    war      VALU write of a register this instruction reads as C
    longest  after this, nothing depends on it any more
    """

    same: int
    c_xdl: int
    c_other: int
    ab: int
    valu: int
    memory: int
    war: int
    longest: int


def _clocks(rule: HazardRule | None) -> int:
    return TURN * (1 + (rule.states if rule else 0))


def _v(first: int, count: int = 1) -> InstOperand:
    return InstOperand("v", first, count)


def _matrix(row: MfmaShape, d: int, a: int, c: int) -> Inst:
    sizes = (row.c_registers, row.a_registers, row.b_registers, row.c_registers)
    operands = tuple(_v(first, size) for first, size in zip((d, a, 240, c), sizes, strict=True))
    return Inst(0, 8, row.name, "vop3p", operands)


def result_clocks(row: MfmaShape) -> ResultClocks:
    """The dependency times of one matrix instruction: the hazard rules asked about one consumer of each kind."""
    xdl, other = MFMA["v_mfma_f32_32x32x8_bf16"], MFMA["v_mfma_f32_16x16x4_f32"]
    far, beyond = 64, 128
    producer = _matrix(row, d=0, a=far, c=beyond)

    def after(consumer: Inst) -> int:
        return _clocks(required(producer, consumer))

    clocks = (
        after(_matrix(row, d=0, a=far, c=0)),
        after(_matrix(xdl, d=1, a=far, c=1)),
        after(_matrix(other, d=1, a=far, c=1)),
        after(_matrix(xdl, d=beyond + 64, a=0, c=beyond)),
        after(Inst(0, 4, "v_mov_b32", "e32", (_v(far), _v(0)))),
        after(Inst(0, 8, "global_store_dword", "", (_v(far, 2), _v(0), InstOperand("off")))),
        after(Inst(0, 4, "v_mov_b32", "e32", (_v(beyond), _v(far)))),
    )
    return ResultClocks(*clocks, max(clocks))


RESULT_CLOCKS: Mapping[str, ResultClocks] = MappingProxyType({name: result_clocks(row) for name, row in MFMA.items()})
