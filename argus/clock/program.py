"""A kernel as the clock sees it: static operations, and per wave the sequence of steps it really took.

    Op      one instruction of the code object: which unit executes it, for how long, which vector registers it touches
    Wave    one wave's path: `ops[i]` was executed i-th, `accesses[i]` says what its memory access touched (or None)

The compute unit model knows nothing of encodings or of the machine's record; `argus.clock.frontend` builds these from
both, and tests build them by hand.

Register sets are bit masks: VGPR n is bit n, AGPR n is bit ACC + n, so overlap is one `&`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from argus.clock.matrix import ResultClocks
from argus.gfx942.hazards import ACC
from argus.gfx942.mfma import MfmaShape
from argus.gfx942.waits import Waits


class Unit(IntEnum):
    """Who executes an operation; each class may issue once per SIMD turn, internal ones need no unit."""

    VALU = 0
    MATRIX = 1
    SALU = 2
    SMEM = 3
    LDS = 4
    VMEM = 5
    BRANCH = 6
    BARRIER = 7
    WAIT = 8
    NOP = 9
    PRIORITY = 10
    SLEEP = 11
    END = 12


INTERNAL = frozenset({Unit.WAIT, Unit.NOP, Unit.PRIORITY, Unit.SLEEP, Unit.END})


class Reason(IntEnum):
    """Why a wave could not issue."""

    MATRIX = 0
    MATRIX_RESULT = 1
    VALU = 2
    SALU = 3
    LDS = 4
    VMEM = 5
    ISSUE = 6
    WAIT_VMEM = 7
    WAIT_LDS = 8
    WAIT_SMEM = 9
    BARRIER = 10
    NOP = 11
    BRANCH = 12
    COUNTER = 13


REASON_TEXT: dict[Reason, str] = {
    Reason.MATRIX: "matrix core busy",
    Reason.MATRIX_RESULT: "matrix result not ready",
    Reason.VALU: "VALU busy",
    Reason.SALU: "scalar unit busy",
    Reason.LDS: "LDS queue full",
    Reason.VMEM: "vector memory queue full",
    Reason.ISSUE: "another wave issued",
    Reason.WAIT_VMEM: "waiting for vector memory",
    Reason.WAIT_LDS: "waiting for LDS",
    Reason.WAIT_SMEM: "waiting for scalar memory",
    Reason.BARRIER: "waiting at barrier",
    Reason.NOP: "s_nop, s_sleep",
    Reason.BRANCH: "branch taken",
    Reason.COUNTER: "wait counter full",
}


@dataclass(frozen=True, slots=True)
class DataWait:
    """A stall for data: at which operation, for which one (-1: not known), and what served it (`hbm`, `lds`, ...)."""

    at: int
    source: int
    served_by: str


@dataclass(slots=True)
class Op:
    """One static instruction.

    index     position in the program's list of operations
    clocks    time on its pipe (VALU, matrix core)
    reads     vector registers read, without the C operand of a matrix instruction, which is `c`
    alone     may not run beside a busy matrix core (packed f32)
    vm, lgkm  increments that wait counter when issued
    amount    turns of s_nop, count of s_sleep, level of s_setprio
    follow    pc of the next instruction in memory: a branch that goes elsewhere was taken
    """

    index: int
    pc: int
    text: str
    unit: Unit
    clocks: int = 4
    reads: int = 0
    writes: int = 0
    c: int = 0
    matrix: MfmaShape | None = None
    result: ResultClocks | None = None
    alone: bool = False
    vm: bool = False
    lgkm: bool = False
    waits: Waits | None = None
    amount: int = 0
    follow: int = 0
    internal: bool = field(init=False)

    def __post_init__(self) -> None:
        self.internal = self.unit in INTERNAL


@dataclass(frozen=True, slots=True)
class LdsAccess:
    """One wave access to LDS: clocks on the pair's port and in the banks, clocks lost to conflicts, latency."""

    port: float
    bank: int
    conflicts: int
    latency: float
    bytes: int


@dataclass(frozen=True, slots=True)
class VmemAccess:
    """One wave access to global memory: clocks on the L1 path and the 128-byte lines touched."""

    clocks: int
    lines: tuple[int, ...]
    bytes: int
    store: bool = False
    atomic: bool = False
    to_lds: bool = False


@dataclass(frozen=True, slots=True)
class ScalarAccess:
    """One scalar load or store: the 64-byte lines touched."""

    lines: tuple[int, ...]


Access = LdsAccess | VmemAccess | ScalarAccess | None


@dataclass(slots=True)
class Wave:
    """One wave's execution. Of a long loop `left_out` iterations may be missing; `marks`: starts of the others."""

    workgroup: int
    wave: int
    ops: list[Op]
    accesses: list[Access]
    left_out: int = 0
    marks: tuple[int, ...] = ()


def registers(first: int, count: int, acc: bool = False) -> int:
    """Bit mask of `count` registers from `first`."""
    return ((1 << count) - 1) << (first + (ACC if acc else 0))
