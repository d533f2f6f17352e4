"""A compute unit that keeps a timeline: the same clocks as `ComputeUnit`, with every slice remembered.

    unit = TimelineUnit(parameters, memory, len(ops))
    unit.run(workgroups)
    unit.timeline()

Law, and test: the stall slices of the waves sum to the stalls the compute unit booked, reason by reason, and a wave's
track has no gap. Ordinary timings do not pay for any of it.
"""

from __future__ import annotations

import math

from argus.clock.caches import MemorySystem
from argus.clock.cu import TURN, ComputeUnit, next_turn
from argus.clock.parameters import Parameters
from argus.clock.program import LdsAccess, Op, Reason, Unit, VmemAccess
from argus.clock.state import WaveState
from argus.clock.timeline import Flight, Slice, Timeline, Track, TrackKind

_AFTER = {Unit.BARRIER: Reason.BARRIER, Unit.BRANCH: Reason.BRANCH}
_OF_SIMD: dict[Unit, TrackKind] = {
    Unit.MATRIX: "matrix",
    Unit.VALU: "valu",
    Unit.SALU: "scalar",
    Unit.SMEM: "scalar",
    Unit.BRANCH: "branch",
}


class TimelineUnit(ComputeUnit):
    """Fills `slices` and `flights`."""

    def __init__(self, parameters: Parameters, memory: MemorySystem, op_count: int) -> None:
        super().__init__(parameters, memory, op_count)
        self.slices: list[Slice] = []
        self.flights: list[Flight] = []
        self._until: dict[int, int] = {}

    def timeline(self) -> Timeline:
        return Timeline(
            tuple(sorted(self.slices, key=lambda s: (s.start, s.track.place))),
            tuple(sorted(self.flights, key=lambda f: (f.start, f.kind))),
        )

    def _on_wave(self, state: WaveState, op: Op, start: int, end: int, stall: Reason | None = None) -> None:
        """A slice of the wave; it follows the one before it."""
        if end > start:
            self.slices.append(Slice(Track("wave", state.simd, state.age), start, end, op.index, state.age, stall))
        self._until[state.age] = end

    def _on_unit(self, track: Track, state: WaveState, op: Op, start: float, end: float) -> None:
        self.slices.append(Slice(track, math.floor(start), math.floor(end), op.index, state.age))

    def _enter(self, state: WaveState, earliest: int) -> None:
        if state.at:
            op = state.wave.ops[state.at - 1]
            self._on_wave(state, op, state.last, state.last + TURN)
            if earliest > state.last + TURN:
                self._on_wave(state, op, state.last + TURN, earliest, _AFTER[op.unit])
        else:
            self._until[state.age] = earliest
        super()._enter(state, earliest)

    def _internal(self, state: WaveState, op: Op, now: int) -> tuple[float, Reason]:
        until, reason = super()._internal(state, op, now)
        turn = next_turn(until, state.simd)
        self._on_wave(state, op, now, turn, reason)
        self._on_wave(state, op, turn, next_turn(turn + self.internal, state.simd))
        return until, reason

    def _try(self, state: WaveState, op: Op, now: int) -> tuple[float, Reason]:
        self._on_wave(state, op, self._until[state.age], now, Reason.MATRIX_RESULT)
        free = (*self.port_free, self.vmem_free)
        at, reason = super()._try(state, op, now)
        if at > now:
            self._on_wave(state, op, now, next_turn(at, state.simd), reason)
        elif op.unit in _OF_SIMD:
            self._on_unit(Track(_OF_SIMD[op.unit], state.simd), state, op, now, now + op.clocks)
        elif op.unit in (Unit.LDS, Unit.VMEM):
            self._shared(state, op, now, free)
        return at, reason

    def _shared(self, state: WaveState, op: Op, now: int, free: tuple[float, ...]) -> None:
        """An access that was taken: the clocks on its path, and until its data are there."""
        access = state.wave.accesses[state.at]
        if isinstance(access, LdsAccess):
            pair = state.simd >> 1
            self._on_unit(Track("lds", number=pair), state, op, max(float(now), free[pair]), self.port_free[pair])
            self.flights.append(Flight("lds", now, math.ceil(state.lds_done)))
        elif isinstance(access, VmemAccess):
            self._on_unit(Track("vmem"), state, op, max(float(now), free[-1]), self.vmem_free)
            done = state.vm[-1] if op.vm else state.lgkm[-1][0] if op.lgkm else now
            self.flights.append(Flight("vmem", now, math.ceil(done)))
