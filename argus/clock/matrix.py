"""How soon the result of a matrix instruction can be used, in clocks after it was issued.

A matrix instruction of N passes occupies its SIMD's matrix core for 4 N clk. Who wants its result must in addition keep
the wait states of gfx942 (one wait state is one turn of the wave, 4 clk), after the instruction's own turn:

    32x32x8 bf16 (N = 8)      same C/D registers again   4 clk  -> the core itself paces an accumulate chain: 32 clk
                              overlapping C              40
                              A or B operand             48
                              VALU or memory             48

Correct code contains the s_nop that these demand, so the times rarely add to a real kernel; they are kept because a
chain through A or B (attention) is as slow as the table says, whoever fills the gap.

Source: LLVM GCNHazardRecognizer.cpp, checkMAIHazards90A and checkMAIVALUHazards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from argus.gfx942.mfma import MFMA, Mfma

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


def _clocks(wait_states: int) -> int:
    return TURN * (1 + wait_states)


def result_clocks(row: Mfma) -> ResultClocks:
    """The dependency times of one matrix instruction."""
    n = row.passes
    if row.c == "f64":
        overlap, use, memory = (9, 11, 18) if row.blocks == 1 else (4, 6, 9)
        same = 0 if row.blocks == 1 else 4
        states = (same, overlap, overlap, use, use, memory, 0)
    elif row.xdl:
        states = (2 if n == 2 else 0, n + 1, n + 1, n + 3, n + 3, n + 3, n - 1)
    else:
        states = (2 if n == 2 else 0, 0, n, n + 2, n + 2, n + 2, 0)
    return ResultClocks(*map(_clocks, (*states, max(states))))


RESULT_CLOCKS: Mapping[str, ResultClocks] = MappingProxyType({name: result_clocks(row) for name, row in MFMA.items()})
