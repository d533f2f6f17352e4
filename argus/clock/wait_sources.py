"""Which instruction a wave waited for, and what served it: a compute unit that keeps this beside the clocks.

    timing = time_waves(ops, groups, resources, unit_type=TracedUnit)
    timing.waits
    -> {DataWait(at=41, source=17, served_by="hbm"): 13040, DataWait(55, 48, "lds conflict"): 912, ...}

`at` is the s_waitcnt (or the LDS instruction that found the queue full), `source` the load, store or LDS instruction
whose data it waited for. The clocks are the same as those of `ComputeUnit`: only the bookkeeping differs, which is why
ordinary timings do not pay for it.

    served_by     l1, l2, mall, hbm     the farthest level a line of the load came from
                  store                 the acknowledgement of a store or an atomic
                  lds, lds conflict     LDS; the second: clocks that would not be there without bank conflicts
                  scalar                scalar memory

Counters return in order, so a wait may be for an older access than the one it names: `source` is the access that set
the time. Clocks of bank conflicts are those of the access itself and of accesses queued before it on the same port;
conflicts on the other pair's port that take the banks away count as plain LDS time. What a conflict-free LDS would
really save is a question for `argus.clock.launch_whatif`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from argus.clock.caches import Level, MemorySystem, Traffic
from argus.clock.cu import ComputeUnit, next_turn
from argus.clock.parameters import Parameters
from argus.clock.program import DataWait, LdsAccess, Op, Reason, Unit, VmemAccess
from argus.clock.state import WaveState

LEVELS: tuple[Level, ...] = ("l1", "l2", "mall", "hbm")
STORE, LDS, CONFLICT, SCALAR = "store", "lds", "lds conflict", "scalar"
UNKNOWN_SOURCE = -1


class TracedMemory:
    """Global memory that remembers from which level its last read came."""

    def __init__(self, memory: MemorySystem) -> None:
        self._memory = memory
        self._level_of: dict[int, int] = {}
        self.level: Level = "l1"

    @property
    def traffic(self) -> Traffic:
        return self._memory.traffic

    def read(self, lines: Sequence[int], start: float) -> float:
        before = [self.traffic.read[level] for level in LEVELS]
        done = self._memory.read(lines, start)
        after = [self.traffic.read[level] for level in LEVELS]
        depth = max((n for n in range(1, len(LEVELS)) if after[n] > before[n]), default=0)
        if depth:
            self._level_of.update(dict.fromkeys(lines, depth))
        elif done > start + self._memory.latency["l1"]:
            depth = max(self._level_of.get(line, 0) for line in lines)
        self.level = LEVELS[depth]
        return done

    def write(self, lines: Sequence[int], size: int, start: float) -> float:
        return self._memory.write(lines, size, start)

    def scalar(self, lines: Sequence[int], start: float) -> float:
        return self._memory.scalar(lines, start)


@dataclass(frozen=True, slots=True)
class _Source:
    """An access some counter counts: its operation, what served it, clocks of bank conflicts before its data."""

    op: int
    served_by: str
    conflicts: float = 0.0


class TracedUnit(ComputeUnit):
    """A compute unit that fills `waits`."""

    def __init__(self, parameters: Parameters, memory: MemorySystem, op_count: int) -> None:
        super().__init__(parameters, memory, op_count)
        self._traced = TracedMemory(memory)
        self.memory = self._traced
        self._sources: dict[tuple[int, float], _Source] = {}
        self._port_conflicts = [0.0, 0.0]

    def _book(self, at: int, source: _Source, clocks: int) -> None:
        conflicts = round(min(clocks, source.conflicts))
        for served_by, part in ((source.served_by, clocks - conflicts), (CONFLICT, conflicts)):
            if part:
                wait = DataWait(at, source.op, served_by)
                self.waits[wait] = self.waits.get(wait, 0) + part

    def _internal(self, state: WaveState, op: Op, now: int) -> tuple[float, Reason]:
        until, reason = super()._internal(state, op, now)
        clocks = next_turn(until, state.simd) - now
        if op.unit is Unit.WAIT and clocks > 0:
            source = self._sources.get((state.age, until), _Source(UNKNOWN_SOURCE, SCALAR))
            self._book(op.index, source, clocks)
        return until, reason

    def _vmem(self, state: WaveState, op: Op, simd: int, now: int) -> tuple[float, Reason]:
        at, reason = super()._vmem(state, op, simd, now)
        access = state.wave.accesses[state.at]
        if at == now and isinstance(access, VmemAccess):
            served_by = STORE if access.store or access.atomic else self._traced.level
            done = state.vm[-1] if op.vm else state.lgkm[-1][0] if op.lgkm else None
            if done is not None:
                self._sources.setdefault((state.age, done), _Source(op.index, served_by))
        return at, reason

    def _lds(self, state: WaveState, op: Op, simd: int, now: int) -> tuple[float, Reason]:
        pair = simd >> 1
        free = self.port_free[pair]
        at, reason = super()._lds(state, op, simd, now)
        access = state.wave.accesses[state.at]
        queued = min(self._port_conflicts[pair], max(0.0, free - now))
        if at > now:
            if reason is Reason.LDS:
                self._book(op.index, _Source(op.index, LDS, queued), next_turn(at, simd) - now)
        elif isinstance(access, LdsAccess):
            start = max(float(now), free)
            alone = max(access.port, access.bank - access.conflicts)
            own = min(access.conflicts, max(0.0, self.port_free[pair] - start - alone))
            self._port_conflicts[pair] = queued + own
            done = state.lgkm[-1][0]
            self._sources.setdefault((state.age, done), _Source(op.index, LDS, queued + own))
        return at, reason

    def _try(self, state: WaveState, op: Op, now: int) -> tuple[float, Reason]:
        at, reason = super()._try(state, op, now)
        if op.unit is Unit.SMEM and at == now:
            self._sources.setdefault((state.age, state.lgkm[-1][0]), _Source(op.index, SCALAR))
        return at, reason
