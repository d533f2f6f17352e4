"""Loading code objects and launching kernels on the simulated device.

    from argus import machine
    kernel = machine.load("vadd.hsaco").kernel("vadd")
    result = kernel((3, 1, 1), (256, 1, 1), a, b, c, np.int32(3000))
    c                                # NumPy arrays are written in place
    result.reports                   # what the checks found

grid is the number of workgroups, block the number of threads of each; both may be an int or a tuple of up to three.
Arguments follow the kernel's metadata: arrays (NumPy, ml_dtypes, anything with __dlpack__ on the CPU) and None (null)
for pointers, Python or NumPy scalars for values; hidden arguments are supplied. Objects without metadata take
explicit byte offsets: `kernel(grid, block, *args, offsets=[0, 16, 32])`, where scalars must be sized (np.int32(5),
np.float32(1)). `lds` is the dynamic LDS size in bytes, added to what the descriptor states.

Each launch has its own device memory: arrays are copied in, and copied back when the launch ends (also when a check
stops it). The same array passed twice is one allocation. So are contiguous arrays that overlap in part, if none of them
is writeable (numpy's flag): views of one tensor. Others that overlap in part are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import numpy as np

from argus.machine.checks import ALL_CHECKS, CheckName, Checks, Watch, WatchEvent
from argus.machine.errors import LaunchError, MachineError, MachineReport
from argus.machine.interp import Program, Wrap
from argus.machine.interp_control import set_mode
from argus.machine.interp_schedule import Schedule, Scheduler
from argus.machine.interp_services import Services
from argus.machine.interp_start import Dispatch, dispatch_packet, float_mode, initial_scalars, initial_v0, mode_register
from argus.machine.launch_arguments import pack_arguments
from argus.machine.loader import CodeObject, KernelInfo, load_object
from argus.machine.memory import Arena
from argus.machine.metadata import number as stated
from argus.machine.record import ExecutionRecord, WaveRecord, WaveRecorder
from argus.machine.register_file import RegisterFile
from argus.machine.state import LANES, LDS_LIMIT, REGISTERS, Wave, Workgroup

Triple = tuple[int, int, int]
Executor = Literal["checking", "jit"]
MAX_THREADS = 1024
PRIVATE_LIMIT = 8191 * 1024 // LANES
"""Scratch bytes of a lane: a wave has up to 8191 KiB."""


class Shadow(Protocol):
    """What computes beside the interpreter."""

    def attach(self, services: Services) -> Wrap:
        """The memory of the launch is ready; returns how to surround an instruction."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """How to run a launch.

    checks       names of checks, or "all"; see `argus.machine.checks`.
    schedule     order of waves, with `quantum` instructions per turn and a `seed`; the JIT has an order of its own
                 (`argus.machine.jit`) and ignores the three and `switch_after`.
    record       make an execution record.
    max_steps    wave instructions after which the launch is reported as not ending.
    switch_after instructions after which a workgroup that has not ended lets others run.
    workgroups   run only these (linear numbers or (x, y, z)); the others do not exist for the run.
    soffset_in_range   whether the scalar offset of buffer instructions counts in their range check.
    partial_in_range   whether a dword that starts in a buffer and ends behind it is in range; the interpreter's alone.
    stop         raise at the end if any check reported something.
    watch        registers and waves to watch; the changes are in `LaunchResult.events`.
    progress     called with (workgroups ended, workgroups in all).
    shadow       computes beside the interpreter (`argus.machine.algebra`); not with checks that delay memory.
    """

    checks: Sequence[CheckName] | Literal["all"] = ()
    schedule: Schedule = "rounds"
    quantum: int = 64
    seed: int = 0
    record: bool = False
    max_steps: int = 200_000_000
    switch_after: int = 200_000
    workgroups: Sequence[int | Triple] | None = None
    soffset_in_range: bool = True
    partial_in_range: bool = False
    stop: bool = False
    watch: Sequence[Watch] = ()
    progress: Callable[[int, int], None] | None = None
    shadow: Shadow | None = None

    def chosen_checks(self) -> tuple[CheckName, ...]:
        return ALL_CHECKS if self.checks == "all" else tuple(self.checks)


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """What a launch did."""

    instructions: int
    workgroups: int
    reports: list[MachineReport] = field(default_factory=list)
    record: ExecutionRecord | None = None
    events: list[WatchEvent] = field(default_factory=list)

    @property
    def errors(self) -> list[MachineReport]:
        """The reports that are neither warnings nor notes."""
        return [r for r in self.reports if r.level == "error"]

    @property
    def ok(self) -> bool:
        return not self.errors


def _triple(value: int | Sequence[int], what: str) -> Triple:
    parts = (value,) if isinstance(value, int | np.integer) else tuple(value)
    if not 1 <= len(parts) <= 3 or any(not isinstance(p, int | np.integer) or p < 1 for p in parts):
        raise LaunchError(f"{what} must be one to three positive numbers, not {value!r}")
    x, y, z = (*(int(p) for p in parts), 1, 1)[:3]
    return x, y, z


class LoadedModule:
    """A loaded code object."""

    def __init__(self, code: CodeObject) -> None:
        self.code = code

    @property
    def names(self) -> list[str]:
        """The kernels it holds."""
        return sorted(self.code.kernels)

    def kernel(self, name: str | None = None) -> LoadedKernel:
        """A kernel by name; the name may be left out if there is only one."""
        if name is None:
            if len(self.names) != 1:
                raise LaunchError(f"the object holds {len(self.names)} kernels, name one of: {', '.join(self.names)}")
            name = self.names[0]
        if name not in self.code.kernels:
            raise LaunchError(f"no kernel {name!r}; the object holds: {', '.join(self.names)}")
        return LoadedKernel(self.code, self.code.kernels[name])


def load(source: str | Path | bytes) -> LoadedModule:
    """Load a code object from a path or its bytes."""
    return LoadedModule(load_object(source))


@dataclass(slots=True)
class PreparedLaunch:
    """A launch ready to run: what an executor starts from."""

    code: CodeObject
    dispatch: Dispatch
    arena: Arena
    code_base: int
    options: Options
    write_back: Callable[[], None]

    def check_ends(self) -> None:
        """Raise if the kernel has written past the end of an array, in its last dword."""
        harmed = self.arena.overwritten()
        if harmed is not None:
            message = f"the kernel has written past the end of {harmed.name} ({harmed.size} bytes), in its last dword"
            raise MachineError(MachineReport("ARG-M105", message, address=harmed.end, space="global"))

    @property
    def chosen_workgroups(self) -> list[int]:
        total, chosen = self.dispatch.workgroups, self.options.workgroups
        if chosen is None:
            return list(range(total))
        gx, gy, _ = self.dispatch.grid
        numbers = [w if isinstance(w, int) else w[0] + gx * (w[1] + gy * w[2]) for w in chosen]
        bad = [n for n in numbers if not 0 <= n < total]
        if bad:
            raise LaunchError(f"workgroup {bad[0]} is not in the grid of {total}")
        return numbers


class LoadedKernel:
    """A kernel of a loaded object; call it to launch it."""

    def __init__(self, code: CodeObject, info: KernelInfo) -> None:
        self.code = code
        self.info = info

    def __call__(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        *args: Any,
        lds: int = 0,
        offsets: Sequence[int] | None = None,
        options: Options | None = None,
        executor: Executor = "checking",
        **settings: Any,
    ) -> LaunchResult:
        """Launch; keyword arguments other than the named ones are fields of `Options`."""
        if executor not in get_args(Executor):
            raise LaunchError(f"there is no executor {executor!r}; there are {', '.join(get_args(Executor))}")
        chosen = options or Options(**settings)
        prepared = self.prepare(grid, block, args, lds, offsets, chosen)
        try:
            return _run_jit(prepared) if executor == "jit" else interpret(prepared)
        finally:
            prepared.write_back()

    def prepare(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        lds: int,
        offsets: Sequence[int] | None,
        options: Options,
    ) -> PreparedLaunch:
        """Check the launch, allocate device memory, and pack the arguments."""
        info = self.info
        shape, threads = _triple(grid, "grid"), _triple(block, "block")
        lds_bytes = self._check_resources(threads, lds)
        arena = Arena()
        code_base = self._map_code(arena)
        packed = pack_arguments(arena, info, args, offsets, shape, threads, lds)
        kernarg = arena.allocate(max(len(packed.data), 1), "kernel arguments", internal=True)
        packet = arena.allocate(64, "dispatch packet", internal=True)
        private = info.private_segment_fixed_size
        arena.write(kernarg, np.frombuffer(packed.data, np.uint8))
        header = dispatch_packet(shape, threads, private, lds_bytes, kernarg.start)
        arena.write(packet, np.frombuffer(header, np.uint8))
        dispatch = Dispatch(info, shape, threads, lds_bytes, kernarg.start, packed.data, packet.start)
        return PreparedLaunch(self.code, dispatch, arena, code_base, options, packed.write_back)

    def _check_resources(self, block: Triple, lds: int) -> int:
        info, descriptor = self.info, self.info.descriptor
        threads = math.prod(block)
        if threads > min(MAX_THREADS, info.max_flat_workgroup_size):
            limit = min(MAX_THREADS, info.max_flat_workgroup_size)
            raise LaunchError(f"a workgroup of {threads} threads; kernel {info.name} allows {limit}", "ARG-M108")
        if info.required_workgroup_size is not None and info.required_workgroup_size != block:
            raise LaunchError(f"kernel {info.name} requires workgroups of {info.required_workgroup_size}, not {block}")
        lds_bytes = info.group_segment_fixed_size + lds
        if lds < 0 or lds_bytes > LDS_LIMIT:
            message = f"kernel {info.name} asks for {lds_bytes} bytes of LDS; a workgroup has at most {LDS_LIMIT}"
            raise LaunchError(message, "ARG-M108")
        registers = max(descriptor.vgprs, stated(info.metadata, ".vgpr_count"), stated(info.metadata, ".agpr_count"))
        if registers > REGISTERS:
            message = f"kernel {info.name} asks for {registers} registers; a wave has at most {REGISTERS}"
            raise LaunchError(message, "ARG-M108")
        private = info.private_segment_fixed_size
        if private > PRIVATE_LIMIT:
            message = f"kernel {info.name} asks for {private} bytes of scratch; a lane has at most {PRIVATE_LIMIT}"
            raise LaunchError(message, "ARG-M108")
        return lds_bytes

    def _map_code(self, arena: Arena) -> int:
        """Copy the object's sections to device memory; returns the address of the code section."""
        end = max((s.address + len(s.data) for s in self.code.segments), default=len(self.code.text))
        image = arena.allocate(max(end, self.code.text_address + len(self.code.text)), "code object", internal=True)
        offset = image.start - arena.base
        for segment in self.code.segments:
            start = offset + segment.address
            arena.buffer[start : start + len(segment.data)] = np.frombuffer(segment.data, np.uint8)
        for pointer in self.code.pointers:
            place = arena.buffer[offset + pointer : offset + pointer + 8].view(np.uint64)
            place += np.uint64(image.start)
        return image.start + self.code.text_address


def _run_jit(prepared: PreparedLaunch) -> LaunchResult:
    try:
        from argus.machine.jit.executor import execute
    except ImportError:
        raise LaunchError("the JIT executor is not available; use executor='checking'") from None
    result: LaunchResult = execute(prepared)
    return result


def interpret(prepared: PreparedLaunch) -> LaunchResult:
    """Run a prepared launch on the interpreter."""
    dispatch, options = prepared.dispatch, prepared.options
    descriptor = dispatch.kernel.descriptor
    services = Services(
        prepared.arena,
        descriptor.accum_offset,
        prepared.code_base,
        recording=options.record,
        soffset_in_range=options.soffset_in_range,
        partial_in_range=options.partial_in_range,
    )
    checks = Checks(options.chosen_checks(), services, dispatch.waves, options.watch)
    wraps = checks.wraps if options.shadow is None else (options.shadow.attach(services), *checks.wraps)
    program = Program(prepared.code.text, dispatch.kernel.start, services, wraps, RegisterFile.of(descriptor))
    checks.bind(program.insts, program.steps)
    scheduler = Scheduler(
        program, options.schedule, options.quantum, options.seed, options.max_steps, options.switch_after
    )
    scheduler.barrier_released = checks.barrier_released
    waves: dict[tuple[int, int], WaveRecord] = {}
    numbers = prepared.chosen_workgroups
    done = 0

    def ended(group: Workgroup) -> None:
        nonlocal done
        done += 1
        checks.workgroup_ended(group)
        for w in group.waves:
            if w.recorder is not None:
                waves[group.number, w.index] = w.recorder.finish()
        if options.progress is not None:
            options.progress(done, len(numbers))

    try:
        with np.errstate(all="ignore"):
            scheduler.run(_workgroups(prepared, program, checks, numbers), ended)
    except MachineError as error:
        error.findings = services.findings.reports()
        raise
    prepared.check_ends()
    reports = services.findings.reports()
    errors = [r for r in reports if r.level == "error"]
    if options.stop and errors:
        raise MachineError(errors[0])
    record = ExecutionRecord(dispatch.grid, dispatch.block, waves) if options.record else None
    return LaunchResult(scheduler.steps, len(numbers), reports, record, checks.events)


def _workgroups(prepared: PreparedLaunch, program: Program, checks: Checks, numbers: list[int]) -> Iterator[Workgroup]:
    dispatch, options = prepared.dispatch, prepared.options
    mode, register = float_mode(dispatch.kernel), mode_register(dispatch.kernel)
    private = -(-dispatch.kernel.private_segment_fixed_size // 4) * 4
    for number in numbers:
        group = Workgroup(dispatch.workgroup(number), number, dispatch.lds_bytes)
        scalars = initial_scalars(dispatch, group.id)
        for index in range(dispatch.waves):
            w = Wave(group, index, mode)
            for n, value in scalars.items():
                w.s[n] = value
            w.v[0][...], live = initial_v0(dispatch, index)
            w.set_exec(live)
            set_mode(w, register)
            w.pc = program.start
            if private:
                w.scratch = np.zeros((LANES, private), np.uint8)
            if options.record:
                w.recorder = WaveRecorder()
            checks.wave_started(w, sorted(scalars))
            group.waves.append(w)
        checks.workgroup_started(group)
        yield group
