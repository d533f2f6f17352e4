"""Running a translated kernel: workgroups over threads, suspended workgroups revisited.

    outcome = run(loaded, memory, start, numbers, WorkerLimits(threads=2))

Each thread owns a context, wave memory and an LDS, takes chunks of workgroups from a shared counter, and spends its
time inside `run_workgroups` with the GIL released. A workgroup that used up its time slice is put aside with its
registers and LDS, another one is started, and the suspended ones are advanced again in turn: a workgroup may wait for
a later one and neither hangs. The number of suspended workgroups grows only while none of them finishes in a round.

After a fault no further workgroups are started. Threads busy with later ones are stopped; threads busy with earlier
ones go on to the end of their chunk, so the fault of the earliest workgroup is reported, whatever the threads' pace.

Python's main thread only waits, so Ctrl-C arrives; it asks the threads to stop at their next time slice.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from argus.machine.jit.engine import Loaded
from argus.machine.jit.expand import Layouts, ThreadRecorder
from argus.machine.jit.frame import (
    CONTEXT_BYTES,
    ROW,
    SCALAR_BYTES,
    SCALARS,
    STATUS_WAVES,
    TEMPLATE_BYTES,
    WAVE_BYTES,
    ArenaFields,
    ContextFields,
    Exit,
    Fault,
    LaunchFields,
    Scalar,
)
from argus.machine.record import WaveRecord

QUANTUM = 1 << 20
"""Wave-instructions per time slice: about 20 to 100 milliseconds."""
TRACE_BYTES = 64 << 20
MOST_SUSPENDED = 256
LINES = 128
"""Bytes of two cache lines."""
FULL_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class StartState:
    """How every workgroup starts.

    grid                  workgroups in x, y, z
    scalars               initial scalar registers, the same for every wave (the workgroup's coordinates excepted)
    workgroup_registers   scalar registers that receive x, y, z; None where the kernel does not ask for it
    first_row             v0 of each wave, (waves, 64)
    exec                  exec of each wave
    lds_bytes             LDS of a workgroup
    rows                  vector registers to clear
    private_bytes         private memory of a lane
    """

    grid: tuple[int, int, int]
    scalars: Sequence[int]
    workgroup_registers: tuple[int | None, int | None, int | None]
    first_row: NDArray[np.uint32]
    exec: Sequence[int]
    lds_bytes: int
    rows: int
    private_bytes: int = 0

    @property
    def waves(self) -> int:
        return len(self.exec)


@dataclass(frozen=True, slots=True)
class Trouble:
    """The first fault of a thread, or its first access outside the LDS; `resume` is the wave's resume point,
    `position` the workgroup's place in the order in which they are started."""

    fault: Fault
    position: int
    workgroup: int
    wave: int
    lane: int
    pc: int
    address: int
    resume: int = 0


@dataclass(slots=True)
class WorkerOutcome:
    """What a launch did."""

    steps: int = 0
    finished: int = 0
    fault: Trouble | None = None
    outside_lds: Trouble | None = None
    stopped: bool = False
    waves: dict[tuple[int, int], WaveRecord] = field(default_factory=dict)


def _aligned(size: int) -> tuple[NDArray[np.uint8], int]:
    """Zeroed memory and the address of `size` bytes in it whose cache lines, and their neighbours that processors
    fetch in pairs, are nobody else's: what one thread writes is then never taken from another's cache."""
    memory = np.zeros(-(-size // LINES) * LINES + LINES, np.uint8)
    return memory, memory.ctypes.data + LINES - 1 & -LINES


class Workspace:
    """Memory of one running workgroup: waves, LDS, status."""

    def __init__(self, start: StartState) -> None:
        self._waves, self.waves = _aligned(start.waves * (WAVE_BYTES + 64 * start.private_bytes))
        self._lds, self.lds = _aligned(max(start.lds_bytes, 4))
        self._status, self.status = _aligned(4 * (STATUS_WAVES + start.waves))
        self.workgroup = -1
        self.position = -1

    def resume_point(self, wave: int) -> int:
        """Where a wave would go on (0: at the entry)."""
        at = self.waves - self._waves.ctypes.data + wave * WAVE_BYTES + SCALARS + Scalar.RESUME
        return int(self._waves[at : at + 4].view(np.int32)[0])


class WorkQueue:
    """The workgroups still to be started, shared by all threads."""

    def __init__(self, numbers: NDArray[np.int64], threads: int) -> None:
        self._numbers = numbers
        self._next = 0
        self._chunk = max(1, min(64, len(numbers) // (8 * threads)))
        self._lock = threading.Lock()

    def take(self, most: int | None = None) -> tuple[int, NDArray[np.int64]]:
        """(position of the first, the next workgroups to be started)."""
        with self._lock:
            first, count = self._next, self._chunk if most is None else most
            taken = self._numbers[first : first + count]
            self._next += len(taken)
        return first, taken

    def close(self) -> None:
        """Nothing more is to be started."""
        with self._lock:
            self._next = len(self._numbers)


@dataclass(frozen=True, slots=True)
class WorkerMemory:
    """The device memory and the private memory's bounds, as `frame.Arena` fields; `keep` holds the arrays alive."""

    arena: tuple[int, int, int, int, int]
    private: tuple[int, int, int, int, int]
    code_base: int
    soffset_in_range: bool
    keep: tuple[NDArray[np.generic], ...]


class Runner(threading.Thread):
    """One thread's share of a launch."""

    def __init__(
        self,
        loaded: Loaded,
        memory: WorkerMemory,
        start: StartState,
        launch: int,
        work: WorkQueue,
        limits: WorkerLimits,
    ) -> None:
        super().__init__(daemon=True)
        self.loaded, self.start_state, self.launch = loaded, start, launch
        self.work, self.limits = work, limits
        self._memory, self.context_address = _aligned(CONTEXT_BYTES)
        first = self.context_address - self._memory.ctypes.data
        self.context = self._memory[first : first + 256].view(np.int64)
        self.outcome = WorkerOutcome()
        self.position = -1
        self.error: BaseException | None = None
        self._recorder = None if limits.trace is None else ThreadRecorder(limits.trace)
        self._trace = np.zeros(0 if limits.trace is None else TRACE_BYTES // 8, np.int64)
        for at, value in zip(ArenaFields, memory.arena, strict=True):
            self.context[at // 8] = value
        for at, value in zip(ArenaFields, memory.private, strict=True):
            self.context[(ContextFields.PRIVATE + at) // 8] = value
        self._put(ContextFields.CODE_BASE, memory.code_base)
        self._put(ContextFields.SOFFSET_COUNTS, -1 if memory.soffset_in_range else 0)
        self._put(ContextFields.STEP_LIMIT, limits.max_steps)
        self._put(ContextFields.NOTE_PC, -1)

    def _put(self, field_: ContextFields, value: int) -> None:
        self.context[field_ // 8] = value

    def _get(self, field_: ContextFields) -> int:
        return int(self.context[field_ // 8])

    def request_stop(self) -> None:
        self._put(ContextFields.STOP, 1)

    def run(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self.error = error
        self.outcome.steps = self._get(ContextFields.STEPS)
        if self._recorder is not None:
            self.outcome.waves = self._recorder.waves

    def _run(self) -> None:
        suspended: deque[Workspace] = deque()
        workspace = Workspace(self.start_state)
        while self._going():
            first, taken = self.work.take(None if self._recorder is None else 1)
            if len(taken) == 0:
                break
            self.position = first
            while len(taken) and self._going():
                reason = self._start(workspace, first, taken)
                done = self._get(ContextFields.FINISHED)
                self.outcome.finished += done
                first, taken = first + done + 1, taken[done + 1 :]
                if reason == Exit.SLICE:
                    suspended.append(workspace)
                    workspace = self._revisit(suspended)
        while suspended and self._going():
            self._advance_first(suspended)

    def _going(self) -> bool:
        return self.outcome.fault is None and not self.outcome.stopped

    def _revisit(self, suspended: deque[Workspace]) -> Workspace:
        """Advance suspended workgroups one round; a workspace for the next one to start."""
        while self._going():
            for _ in range(len(suspended)):
                finished = self._advance_first(suspended)
                if finished is not None:
                    return finished
                if not self._going():
                    break
            if len(suspended) < MOST_SUSPENDED:
                break
        return Workspace(self.start_state)

    def _advance_first(self, suspended: deque[Workspace]) -> Workspace | None:
        workspace = suspended.popleft()
        reason = self._advance(workspace)
        if reason == Exit.SLICE:
            suspended.append(workspace)
            return None
        if reason == Exit.END:
            self.outcome.finished += 1
        return workspace

    def _use(self, workspace: Workspace) -> None:
        self._put(ContextFields.LDS, workspace.lds)
        self._put(ContextFields.LDS_SIZE, self.start_state.lds_bytes)
        if self._recorder is not None:
            self._put(ContextFields.TRACE, self._trace.ctypes.data)
            self._put(ContextFields.TRACE_END, self._trace.ctypes.data + self._trace.nbytes)

    def _start(self, workspace: Workspace, first: int, numbers: NDArray[np.int64]) -> Exit:
        self._use(workspace)
        ids = np.ascontiguousarray(numbers)
        pointers = (self.context_address, self.launch, workspace.waves, workspace.status)
        reason = Exit(self.loaded.run_workgroups(*pointers, ids.ctypes.data, len(ids)))
        at = min(self._get(ContextFields.FINISHED), len(ids) - 1)
        workspace.position, workspace.workgroup = first + at, int(ids[at])
        if self.outcome.outside_lds is None and self._get(ContextFields.NOTE_PC) >= 0:
            at = self._get(ContextFields.NOTE_FINISHED)
            self.outcome.outside_lds = self._note(first + at, int(ids[at]))
        return self._after(workspace, reason)

    def _advance(self, workspace: Workspace) -> Exit:
        self._use(workspace)
        pointers = (self.context_address, self.launch, workspace.waves, workspace.status)
        return self._after(workspace, Exit(self.loaded.advance_workgroup(*pointers)))

    def _after(self, workspace: Workspace, reason: Exit) -> Exit:
        if self._recorder is not None:
            used = (self._get(ContextFields.TRACE) - self._trace.ctypes.data) // 8
            self._recorder.add(workspace.workgroup, self._trace[:used], ended=reason == Exit.END)
            if reason == Exit.TRACE_FULL:
                return self._advance(workspace)
        if reason == Exit.FAULT:
            self.outcome.fault = self._fault(workspace)
            self.work.close()
        elif reason == Exit.STOPPED:
            self.outcome.stopped = True
        if self.outcome.outside_lds is None and self._get(ContextFields.NOTE_PC) >= 0:
            self.outcome.outside_lds = self._note(workspace.position, workspace.workgroup)
        return reason

    def _fault(self, workspace: Workspace) -> Trouble:
        wave = self._get(ContextFields.FAULT_WAVE)
        return Trouble(
            fault=Fault(self._get(ContextFields.FAULT)),
            position=workspace.position,
            workgroup=workspace.workgroup,
            wave=wave,
            lane=self._get(ContextFields.FAULT_LANE),
            pc=self._get(ContextFields.FAULT_PC),
            address=self._get(ContextFields.FAULT_ADDRESS) & FULL_MASK,
            resume=workspace.resume_point(wave),
        )

    def _note(self, position: int, workgroup: int) -> Trouble:
        return Trouble(
            fault=Fault.NONE,
            position=position,
            workgroup=workgroup,
            wave=self._get(ContextFields.NOTE_WAVE),
            lane=self._get(ContextFields.NOTE_LANE),
            pc=self._get(ContextFields.NOTE_PC),
            address=self._get(ContextFields.NOTE_ADDRESS),
        )


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """How a launch may use the host."""

    threads: int = 1
    max_steps: int = 1 << 62
    trace: Layouts | None = None
    quantum: int = QUANTUM
    progress: Callable[[int], None] | None = None


def launch_block(start: StartState, quantum: int) -> NDArray[np.uint8]:
    """The block all threads read: see `frame.Launch`."""
    block = np.zeros(LaunchFields.TEMPLATES + start.waves * TEMPLATE_BYTES, np.uint8)
    header = block[: LaunchFields.TEMPLATES].view(np.int64)
    header[LaunchFields.WAVES // 8] = start.waves
    header[LaunchFields.GRID_X // 8] = start.grid[0]
    header[LaunchFields.GRID_Y // 8] = start.grid[1]
    for field_, register in zip(
        (LaunchFields.WORKGROUP_X, LaunchFields.WORKGROUP_Y, LaunchFields.WORKGROUP_Z),
        start.workgroup_registers,
        strict=True,
    ):
        header[field_ // 8] = -1 if register is None else 4 * register
    header[LaunchFields.VECTOR_BYTES // 8] = start.rows * ROW
    header[LaunchFields.QUANTUM // 8] = quantum
    header[LaunchFields.PRIVATE_BYTES // 8] = 64 * start.private_bytes
    for wave in range(start.waves):
        template = block[LaunchFields.TEMPLATES + wave * TEMPLATE_BYTES :][:TEMPLATE_BYTES]
        scalars = template[:SCALAR_BYTES]
        scalars[: 4 * len(start.scalars)].view(np.uint32)[:] = np.array(start.scalars, np.uint32)
        scalars[Scalar.EXEC : Scalar.EXEC + 8].view(np.uint64)[0] = start.exec[wave]
        scalars[Scalar.WAVE : Scalar.WAVE + 8].view(np.int64)[0] = wave
        template[SCALAR_BYTES:].view(np.uint32)[:] = start.first_row[wave]
    return block


def run(
    loaded: Loaded, memory: WorkerMemory, start: StartState, numbers: NDArray[np.int64], limits: WorkerLimits
) -> WorkerOutcome:
    """Run the workgroups `numbers`."""
    block = launch_block(start, limits.quantum)
    work = WorkQueue(numbers, limits.threads)
    runners = [Runner(loaded, memory, start, block.ctypes.data, work, limits) for _ in range(limits.threads)]
    for runner in runners:
        runner.start()
    try:
        for runner in runners:
            while runner.is_alive():
                runner.join(0.2)
                _report(limits, runners)
                if any(r.error is not None for r in runners):
                    _stop(runners)
                fault = _earliest(r.outcome.fault for r in runners)
                if fault is not None:
                    _stop([r for r in runners if r.position > fault.position])
    except KeyboardInterrupt:
        _stop(runners)
        for runner in runners:
            runner.join()
        raise
    _report(limits, runners)
    return _joined(runners)


def _report(limits: WorkerLimits, runners: Sequence[Runner]) -> None:
    if limits.progress is not None:
        limits.progress(sum(runner.outcome.finished for runner in runners))


def _stop(runners: Sequence[Runner]) -> None:
    for runner in runners:
        runner.request_stop()


def _earliest(found: Iterable[Trouble | None]) -> Trouble | None:
    return min((t for t in found if t is not None), key=lambda t: t.position, default=None)


def _joined(runners: Sequence[Runner]) -> WorkerOutcome:
    total = WorkerOutcome()
    for runner in runners:
        if runner.error is not None:
            raise runner.error
        total.steps += runner.outcome.steps
        total.finished += runner.outcome.finished
        total.waves.update(runner.outcome.waves)
    total.fault = _earliest(runner.outcome.fault for runner in runners)
    total.outside_lds = _earliest(runner.outcome.outside_lds for runner in runners)
    return total
