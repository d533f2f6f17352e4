"""What the compute unit remembers: each wave in flight, and how long each unit worked.

state.vm      when each outstanding vector memory access will be done, oldest first
state.lgkm    the same for LDS and scalar memory, with the reason a wait on it is booked under
state.matrix  matrix instructions whose results may still be on their way: (clock of issue, operation)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.clock.program import Op, Reason, Wave
from argus.gfx942.chip import SIMDS_PER_CU

NEVER = 1 << 60


@dataclass(slots=True)
class WaveState:
    """A wave in flight. `ready`: the first turn in which its next operation may try to issue."""

    wave: Wave
    group: int
    age: int
    simd: int
    ready: int
    started: int
    at: int = 0
    priority: int = 0
    last: int = -1
    ended: int | None = None
    ready_at_end: int | None = None
    at_barrier: bool = False
    vm: list[float] = field(default_factory=list)
    lgkm: list[tuple[float, Reason]] = field(default_factory=list)
    lds_done: float = 0.0
    matrix: list[tuple[int, Op]] = field(default_factory=list)
    next_mark: int = NEVER
    marked: int = 0


@dataclass(slots=True)
class Busy:
    """Clocks each unit worked, and what LDS and vector memory moved."""

    matrix: list[int] = field(default_factory=lambda: [0] * SIMDS_PER_CU)
    valu: list[int] = field(default_factory=lambda: [0] * SIMDS_PER_CU)
    lds_port: list[float] = field(default_factory=lambda: [0.0] * 2)
    lds_bank: int = 0
    lds_conflicts: int = 0
    lds_bytes: int = 0
    vmem: int = 0
