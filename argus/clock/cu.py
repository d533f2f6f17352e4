"""One compute unit, clock by clock: four SIMDs, their waves, and the units they share.

Rules (sources in parameters.json and docs/clock.md):

* The CU serves its SIMDs in turn, so each SIMD issues every fourth clock: at most one instruction per wave and one per
  unit (VALU with matrix core, SALU with scalar memory, LDS, vector memory, branch). Higher s_setprio first, then age.
* Waves are in order. Everything a wave waits for on its own (wait counters, s_nop, matrix results) is known when the
  previous instruction issues, so the wave sleeps until then; only shared units are retried.
* Matrix core: busy for `cycles`; VALU instructions of any wave of the SIMD run beside it unless the instruction allows
  no co-execution; its results follow `argus.clock.matrix`.
* LDS: SIMDs 0, 1 and 2, 3 share a port; the banks are shared by all. An access holds its port for the data and the
  banks for its phases, conflicts included. Vector memory: one path per CU, then the caches.
* Counters return in order (scalar memory: any order), so `s_waitcnt` waits for the k-th oldest.

Nothing is random: the same input gives the same clocks.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from argus.clock.banks import BankCalendar
from argus.clock.caches import MemorySystem, Traffic
from argus.clock.parameters import Parameters
from argus.clock.program import DataWait, LdsAccess, Op, Reason, ScalarAccess, Unit, VmemAccess, Wave
from argus.clock.state import NEVER, Busy, WaveState
from argus.clock.steady import WARM, Account, Snapshot
from argus.gfx942.chip import SIMDS_PER_CU
from argus.gfx942.waits import LGKM_MAX, VM_MAX

TURN = 4
LDS_DMA_CLOCKS = 2
REASONS = len(Reason)


class GlobalMemory(Protocol):
    """What a compute unit asks of memory: when the lines of an access that starts at a clock are there."""

    @property
    def traffic(self) -> Traffic: ...
    def read(self, lines: Sequence[int], start: float) -> float: ...
    def write(self, lines: Sequence[int], size: int, start: float) -> float: ...
    def scalar(self, lines: Sequence[int], start: float) -> float: ...


class ComputeUnit:
    """Runs waves to their end and keeps the account."""

    def __init__(self, parameters: Parameters, memory: MemorySystem, op_count: int) -> None:
        self.memory: GlobalMemory = memory
        self.internal = int(parameters["internal_clocks"])
        self.branch_taken = int(parameters["branch_taken_clocks"])
        self.barrier_clocks = int(parameters["barrier_clocks"])
        self.sleep_clocks = int(parameters["sleep_clocks"])
        self.launch_gap = int(parameters["wave_launch_clocks"])
        self.lds_queue_size = int(parameters["lds_queue"])
        self.vmem_queue_size = int(parameters["vmem_queue"])
        self.vmem_least = int(parameters["vmem_least_clocks"])
        self.coexec = parameters["matrix_coexec"] != 0
        self.rotating = parameters.choice("arbitration") == "rotating"
        self.busy = Busy()
        self.issued = [0] * op_count
        self.stalls = [[0] * REASONS for _ in range(op_count)]
        self.waits: dict[DataWait, int] = {}
        self.valu_free = [0] * SIMDS_PER_CU
        self.matrix_free = [0] * SIMDS_PER_CU
        self.matrix_alone = [0] * SIMDS_PER_CU
        self.scalar_turn = [-1] * SIMDS_PER_CU
        self.branch_turn = [-1] * SIMDS_PER_CU
        self.lds_turn = [-1] * SIMDS_PER_CU
        self.vmem_turn = [-1] * SIMDS_PER_CU
        self.port_free = [0.0, 0.0]
        self.banks = BankCalendar()
        self.lds_queue: list[deque[float]] = [deque() for _ in range(SIMDS_PER_CU)]
        self.vmem_free = 0.0
        self.vmem_queue: deque[float] = deque()
        self.waves: list[list[WaveState]] = [[] for _ in range(SIMDS_PER_CU)]
        self.groups: list[list[WaveState]] = []
        self.heap: list[tuple[int, int]] = []
        self.passed: list[list[int]] = []
        self.snapshots: list[Snapshot] = []
        self.last_mark_passed = False
        self.scheduled = [-1] * SIMDS_PER_CU

    def run(self, workgroups: Sequence[Sequence[Wave]]) -> int:
        """Runs co-resident workgroups that start together; returns the clock when the last wave is done."""
        age = 0
        for group, waves in enumerate(workgroups):
            states = []
            for wave in waves:
                simd = age % SIMDS_PER_CU
                start = next_turn(age * self.launch_gap, simd)
                state = WaveState(wave, group, age, simd, start, start)
                self.waves[simd].append(state)
                states.append(state)
                age += 1
            self.groups.append(states)
            self.passed.append([])
            states[0].next_mark = waves[0].marks[0] if waves[0].left_out else NEVER
        for group_states in self.groups:
            for state in group_states:
                self._enter(state, state.started)
        for simd in range(SIMDS_PER_CU):
            self._schedule(simd)
        while self.heap:
            now, simd = heapq.heappop(self.heap)
            if self.scheduled[simd] != now:
                continue
            self.scheduled[simd] = -1
            self._serve(simd, now)
        return max(state.ended or 0 for states in self.groups for state in states)

    def _schedule(self, simd: int) -> None:
        """Wakes the SIMD at the first turn in which one of its waves may issue."""
        first = min((s.ready for s in self.waves[simd] if not s.at_barrier), default=-1)
        if first >= 0 and (self.scheduled[simd] < 0 or first < self.scheduled[simd]):
            self.scheduled[simd] = first
            heapq.heappush(self.heap, (first, simd))

    def _serve(self, simd: int, now: int) -> None:
        candidates = [s for s in self.waves[simd] if s.ready <= now and not s.at_barrier]
        if len(candidates) > 1:
            if self.rotating:
                candidates.sort(key=lambda s: (-s.priority, s.last))
            else:
                candidates.sort(key=lambda s: (-s.priority, s.age))
        for state in candidates:
            op = state.wave.ops[state.at]
            blocked, reason = self._try(state, op, now)
            if blocked > now:
                turn = next_turn(blocked, simd)
                self.stalls[op.index][reason] += turn - now
                state.ready = turn
                continue
            if op.unit is Unit.BARRIER:
                continue
            self._step(state, op, now)
        self._schedule(simd)

    def _step(self, state: WaveState, op: Op, now: int) -> None:
        """Accounts an issued operation and moves the wave to the next one."""
        self.issued[op.index] += 1
        if state.at >= state.next_mark:
            self._mark(state, now)
        state.last = now
        state.at += 1
        earliest = now + TURN
        if op.unit is Unit.BRANCH and state.at < len(state.wave.ops) and state.wave.ops[state.at].pc != op.follow:
            extra = next_turn(now + self.branch_taken, state.simd) - earliest
            self.stalls[op.index][Reason.BRANCH] += extra
            earliest += extra
        self._enter(state, earliest)

    def _mark(self, state: WaveState, now: int) -> None:
        """The first wave of a workgroup begins another iteration of its loop."""
        marks = state.wave.marks
        self.passed[state.group].append(now)
        if state.marked == WARM or (state.marked == len(marks) - 1 and not self.last_mark_passed):
            self.last_mark_passed = state.marked > WARM
            self.snapshots.append(Snapshot(now, state.marked > WARM, sum(self.issued), Account.of(self)))
        state.marked += 1
        state.next_mark = marks[state.marked] if state.marked < len(marks) else NEVER

    def _enter(self, state: WaveState, earliest: int) -> None:
        """Sets `ready` for the wave's next operation; internal operations are finished on the way."""
        ops = state.wave.ops
        while True:
            if state.at >= len(ops):
                self._end(state, earliest)
                return
            op = ops[state.at]
            if not op.internal:
                break
            until, reason = self._internal(state, op, earliest)
            turn = next_turn(until, state.simd)
            if turn > earliest:
                self.stalls[op.index][reason] += turn - earliest
            self.issued[op.index] += 1
            earliest = next_turn(turn + self.internal, state.simd)
            state.at += 1
        state.ready = earliest
        if state.matrix:
            ready = _result_ready(state, op, earliest)
            if ready > earliest:
                turn = next_turn(ready, state.simd)
                self.stalls[op.index][Reason.MATRIX_RESULT] += turn - earliest
                state.ready = turn

    def _internal(self, state: WaveState, op: Op, now: int) -> tuple[float, Reason]:
        if op.unit is Unit.WAIT and op.waits is not None:
            until, reason = float(now), Reason.WAIT_VMEM
            if len(state.vm) > op.waits.vm:
                until = max(until, state.vm[-op.waits.vm - 1])
                del state.vm[: len(state.vm) - op.waits.vm]
            if len(state.lgkm) > op.waits.lgkm:
                order = sorted(state.lgkm)
                release, kind = order[-op.waits.lgkm - 1]
                if release > until:
                    until, reason = release, kind
                state.lgkm = order[len(order) - op.waits.lgkm :]
            return until, reason
        if op.unit is Unit.NOP:
            return now + TURN * (op.amount - 1), Reason.NOP
        if op.unit is Unit.SLEEP:
            return now + self.sleep_clocks * op.amount, Reason.NOP
        if op.unit is Unit.PRIORITY:
            state.priority = op.amount
        return now, Reason.NOP

    def _end(self, state: WaveState, now: int) -> None:
        state.ready_at_end = now
        state.ended = int(max([float(now), *state.vm]))
        self.waves[state.simd].remove(state)
        self._release(state.group, now)

    def _try(self, state: WaveState, op: Op, now: int) -> tuple[float, Reason]:
        """Issues the operation if its unit takes it now (returns `now`), else returns when to try again and why."""
        unit, simd = op.unit, state.simd
        if unit is Unit.VALU:
            return self._valu(op, simd, now)
        if unit is Unit.MATRIX:
            return self._matrix(state, op, simd, now)
        if unit is Unit.LDS:
            return self._lds(state, op, simd, now)
        if unit is Unit.VMEM:
            return self._vmem(state, op, simd, now)
        if unit is Unit.BARRIER:
            return self._barrier(state, op, now)
        if unit is Unit.BRANCH:
            return _claim(self.branch_turn, simd, now, Reason.BRANCH)
        if unit is Unit.SMEM:
            _retire_lgkm(state, now)
            if len(state.lgkm) >= LGKM_MAX:
                return _full([time for time, _ in state.lgkm], now)
        at, reason = _claim(self.scalar_turn, simd, now, Reason.SALU)
        if unit is Unit.SMEM and at == now:
            access = state.wave.accesses[state.at]
            lines = access.lines if isinstance(access, ScalarAccess) else ()
            state.lgkm.append((self.memory.scalar(lines, now), Reason.WAIT_SMEM))
        return at, reason

    def _valu(self, op: Op, simd: int, now: int) -> tuple[float, Reason]:
        if self.valu_free[simd] > now:
            return self.valu_free[simd], Reason.VALU
        blocked = self.matrix_free[simd] if op.alone else self.matrix_alone[simd]
        if blocked > now:
            return blocked, Reason.MATRIX
        self.valu_free[simd] = now + op.clocks
        self.busy.valu[simd] += op.clocks
        return now, Reason.VALU

    def _matrix(self, state: WaveState, op: Op, simd: int, now: int) -> tuple[float, Reason]:
        if self.matrix_free[simd] > now:
            return self.matrix_free[simd], Reason.MATRIX
        if self.valu_free[simd] > now:
            return self.valu_free[simd], Reason.VALU
        self.matrix_free[simd] = now + op.clocks
        self.valu_free[simd] = now + TURN
        self.busy.matrix[simd] += op.clocks
        if op.matrix is not None and (op.matrix.coexec == 0 or not self.coexec):
            self.matrix_alone[simd] = now + op.clocks
        state.matrix.append((now, op))
        return now, Reason.MATRIX

    def _lds(self, state: WaveState, op: Op, simd: int, now: int) -> tuple[float, Reason]:
        pair = simd >> 1
        queue = self.lds_queue[simd]
        while queue and queue[0] <= now:
            queue.popleft()
        if len(queue) >= self.lds_queue_size:
            return queue[0], Reason.LDS
        _retire_lgkm(state, now)
        if len(state.lgkm) >= LGKM_MAX:
            return _full([time for time, _ in state.lgkm], now)
        at, reason = _claim(self.lds_turn, simd, now, Reason.ISSUE)
        if at > now:
            return at, reason
        access = state.wave.accesses[state.at]
        if isinstance(access, LdsAccess):
            start = max(float(now), self.port_free[pair])
            self.banks.forget(now)
            end = max(start + access.port, self.banks.book(start, access.bank))
            self.port_free[pair] = end
            queue.append(start)
            state.lds_done = max(state.lds_done, end + access.latency - access.port)
            state.lgkm.append((state.lds_done, Reason.WAIT_LDS))
            self.busy.lds_port[pair] += end - start
            self.busy.lds_bank += access.bank
            self.busy.lds_conflicts += access.conflicts
            self.busy.lds_bytes += access.bytes
        return now, Reason.LDS

    def _vmem(self, state: WaveState, op: Op, simd: int, now: int) -> tuple[float, Reason]:
        queue = self.vmem_queue
        while queue and queue[0] <= now:
            queue.popleft()
        if len(queue) >= self.vmem_queue_size:
            return queue[0], Reason.VMEM
        while state.vm and state.vm[0] <= now:
            state.vm.pop(0)
        if len(state.vm) >= VM_MAX:
            return _full(state.vm, now)
        at, reason = _claim(self.vmem_turn, simd, now, Reason.ISSUE)
        if at > now:
            return at, reason
        access = state.wave.accesses[state.at]
        done = float(now)
        if isinstance(access, VmemAccess):
            start = max(float(now), self.vmem_free)
            self.vmem_free = start + access.clocks
            queue.append(start)
            self.busy.vmem += access.clocks
            tail = start + max(0, access.clocks - self.vmem_least)
            if access.store or access.atomic:
                done = self.memory.write(access.lines, access.bytes, tail)
            else:
                done = self.memory.read(access.lines, tail)
            if access.to_lds:
                self.banks.book(done, LDS_DMA_CLOCKS)
        done = max([done, *state.vm[-1:]])
        if op.vm:
            state.vm.append(done)
        if op.lgkm:
            state.lgkm.append((done, Reason.WAIT_VMEM))
        return now, Reason.VMEM

    def _barrier(self, state: WaveState, op: Op, now: int) -> tuple[float, Reason]:
        state.at_barrier = True
        state.ready = now
        self._release(state.group, now)
        return now, Reason.BARRIER

    def _release(self, group: int, now: int) -> None:
        """Lets a workgroup go on when every wave that still runs has arrived."""
        states = [s for s in self.groups[group] if s.ended is None]
        if not states or not all(s.at_barrier for s in states):
            return
        for state in states:
            state.at_barrier = False
        for state in states:
            op = state.wave.ops[state.at]
            arrived = state.ready
            leave = next_turn(now + self.barrier_clocks, state.simd)
            self.stalls[op.index][Reason.BARRIER] += max(0, leave - arrived - TURN)
            self.issued[op.index] += 1
            state.last = arrived
            state.at += 1
            self._enter(state, max(leave, arrived + TURN))
        for simd in {s.simd for s in states}:
            self._schedule(simd)


def next_turn(time: float, simd: int) -> int:
    """The SIMD's first turn at or after `time`."""
    whole = int(time)
    if whole < time:
        whole += 1
    return whole + (simd - whole) % TURN


def _claim(turns: list[int], simd: int, now: int, reason: Reason) -> tuple[int, Reason]:
    if turns[simd] == now:
        return now + TURN, Reason.ISSUE
    turns[simd] = now
    return now, reason


def _full(times: list[float], now: int) -> tuple[float, Reason]:
    return max(min(times), now + 1.0), Reason.COUNTER


def _retire_lgkm(state: WaveState, now: int) -> None:
    if state.lgkm and state.lgkm[0][0] <= now:
        state.lgkm = [entry for entry in state.lgkm if entry[0] > now]


def _result_ready(state: WaveState, op: Op, now: int) -> int:
    """When the matrix results that `op` touches may be touched."""
    ready = now
    live = []
    for issued, producer in state.matrix:
        result = producer.result
        if result is None or issued + result.longest <= now:
            continue
        live.append((issued, producer))
        if op.unit is Unit.MATRIX:
            if producer.writes & op.reads:
                ready = max(ready, issued + result.ab)
            if producer.writes & op.c:
                xdl = op.matrix is not None and op.matrix.xdl
                exact = producer.writes == op.c
                ready = max(ready, issued + (result.same if exact else result.c_xdl if xdl else result.c_other))
        elif op.reads | op.writes:
            if producer.writes & (op.reads | op.writes):
                ready = max(ready, issued + (result.valu if op.unit is Unit.VALU else result.memory))
            if producer.c & op.writes:
                ready = max(ready, issued + result.war)
    state.matrix = live
    return ready
