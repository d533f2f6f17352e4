"""The JIT as an executor of prepared launches, and the translation of a kernel on its own.

    translated = translate(load_object("gemm.hsaco"), "gemm")      # compiled now, or found in the cache
    result = execute(prepared)                                     # what kernel(..., executor="jit") does

A translation is kept in memory as well as on disk, keyed by the kernel's code and mode, so a second launch only
prepares the waves' start state. Threads: as many as the machine has cores, or ARGUS_THREADS.

Faults become the same reports the interpreter makes (out of bounds, does not end, invalid code), naming workgroup,
wave, lane, instruction and address. The checks themselves are the interpreter's: asking for them here is refused.
"""

from __future__ import annotations

import hashlib
import os
import threading
from dataclasses import dataclass

import numpy as np

from argus.gfx942.decoder import DecodeError, decode
from argus.gfx942.disasm import text
from argus.machine.errors import LaunchError, LaunchPoint, MachineError, MachineReport
from argus.machine.interp_start import float_mode, initial_scalars, initial_v0, mode_register
from argus.machine.jit.engine import Loaded
from argus.machine.jit.expand import Layouts
from argus.machine.jit.frame import GRANULE, Fault
from argus.machine.jit.objects import CompiledObject, Facts, ObjectStore, source_digest
from argus.machine.jit.translator import KernelSpec, translate_text
from argus.machine.jit.workers import StartState, Trouble, WorkerLimits, WorkerMemory, WorkerOutcome, run
from argus.machine.launch import LaunchResult, PreparedLaunch
from argus.machine.loader import CodeObject, KernelInfo
from argus.machine.memory import Arena as DeviceMemory
from argus.machine.memory import OutOfBounds
from argus.machine.record import ExecutionRecord
from argus.machine.register_file import RegisterFile
from argus.machine.semantics.mem import MEMORY

LEAST_SIZE = -(1 << 40)
OUTSIDE_BIT = 1 << 63


@dataclass(frozen=True, slots=True)
class Translated:
    """A kernel as host code.

    facts   instructions (static count), rows (vector registers used), blocks (record layouts), resume (points, as pcs)
    fresh   whether it was compiled now rather than found in the cache
    """

    spec: KernelSpec
    facts: Facts
    loaded: Loaded
    fresh: bool


_TRANSLATED: dict[str, Translated] = {}
_LOCK = threading.Lock()


def translate(
    code: CodeObject, kernel: str, *, full_waves: bool = True, trace: bool = False, store: ObjectStore | None = None
) -> Translated:
    """The kernel as host code. Raises `JitUnsupported`, `CompileError` or `DecodeError`.

    full_waves says that workgroups are a multiple of 64 threads; trace adds the execution record.
    """
    info = code.kernels[kernel]
    spec = kernel_spec(code, info, full_waves, trace)
    key = _key(spec)
    with _LOCK:
        found = _TRANSLATED.get(key)
        if found is None:
            entry: CompiledObject = (store or ObjectStore.default()).get(key, lambda: translate_text(spec))
            found = _TRANSLATED[key] = Translated(spec, entry.facts, Loaded(entry.codes), entry.fresh)
    return found


def kernel_spec(code: CodeObject, info: KernelInfo, full_waves: bool, trace: bool) -> KernelSpec:
    float_mode(info)
    return KernelSpec(
        code=code.text,
        entry=info.start,
        file=RegisterFile.of(info.descriptor),
        mode=mode_register(info),
        full_waves=full_waves,
        trace=trace,
    )


def _key(spec: KernelSpec) -> str:
    digest = hashlib.sha256(source_digest().encode())
    digest.update(spec.code)
    rest = (spec.entry, spec.file, spec.mode, spec.full_waves, spec.trace)
    digest.update(repr(rest).encode())
    return digest.hexdigest()[:48]


def thread_count() -> int:
    """Threads of a launch: ARGUS_THREADS, or the cores this process may use."""
    wanted = os.environ.get("ARGUS_THREADS", "")
    if not wanted:
        return len(os.sched_getaffinity(0))
    if not wanted.isdigit() or int(wanted) < 1:
        raise LaunchError(f"ARGUS_THREADS must be a positive number, not {wanted!r}")
    return int(wanted)


def execute(prepared: PreparedLaunch) -> LaunchResult:
    """Run a prepared launch."""
    dispatch, options = prepared.dispatch, prepared.options
    if options.chosen_checks() or options.watch:
        raise LaunchError("checks and watches are the interpreter's; launch with executor='checking' or without them")
    numbers = np.array(prepared.chosen_workgroups, np.int64)
    full_waves = dispatch.threads % 64 == 0
    try:
        translated = translate(prepared.code, dispatch.kernel.name, full_waves=full_waves, trace=options.record)
    except DecodeError as why:
        raise MachineError(MachineReport("ARG-M110", str(why), LaunchPoint(pc=why.pc))) from None
    memory = device_memory(prepared)
    progress = options.progress
    limits = WorkerLimits(
        threads=min(thread_count(), max(1, len(numbers))),
        max_steps=options.max_steps,
        trace=Layouts(translated.facts["blocks"]) if options.record else None,
        progress=None if progress is None else lambda done: progress(done, len(numbers)),
    )
    outcome = run(translated.loaded, memory, start_state(prepared, translated.facts), numbers, limits)
    if outcome.fault is not None:
        raise MachineError(_fault_report(prepared, translated, outcome.fault))
    prepared.check_ends()
    reports = [] if outcome.outside_lds is None else [_lds_report(prepared, outcome.outside_lds)]
    if options.stop and reports:
        raise MachineError(reports[0])
    return LaunchResult(outcome.steps, len(numbers), reports, _record(prepared, outcome))


def _record(prepared: PreparedLaunch, outcome: WorkerOutcome) -> ExecutionRecord | None:
    if not prepared.options.record:
        return None
    waves = dict(sorted(outcome.waves.items()))
    return ExecutionRecord(prepared.dispatch.grid, prepared.dispatch.block, waves)


# Start state


def start_state(prepared: PreparedLaunch, facts: Facts) -> StartState:
    """How every workgroup of the launch starts."""
    dispatch = prepared.dispatch
    descriptor = dispatch.kernel.descriptor
    scalars = [0] * 128
    for register, value in initial_scalars(dispatch, (0, 0, 0)).items():
        scalars[register] = value
    following = descriptor.user_sgpr_count
    registers: list[int | None] = []
    for enabled in descriptor.workgroup_ids:
        registers.append(following if enabled else None)
        following += int(enabled)
    rows = [initial_v0(dispatch, wave) for wave in range(dispatch.waves)]
    return StartState(
        grid=dispatch.grid,
        scalars=scalars,
        workgroup_registers=(registers[0], registers[1], registers[2]),
        first_row=np.stack([row for row, _ in rows]),
        exec=[live for _, live in rows],
        lds_bytes=dispatch.lds_bytes,
        rows=max(1, int(facts["rows"])),
        private_bytes=_private_bytes(dispatch.kernel),
    )


def _private_bytes(kernel: KernelInfo) -> int:
    return -(-kernel.private_segment_fixed_size // 4) * 4


def device_memory(prepared: PreparedLaunch) -> WorkerMemory:
    """Addresses and bounds of the launch's memory."""
    arena: DeviceMemory = prepared.arena
    size = len(arena.buffer)
    shadow = np.zeros(-(-size // GRANULE), np.uint16)
    bounds = np.zeros((len(arena.allocations) + 1, 2), np.int64)
    bounds[0] = 0, LEAST_SIZE
    for number, allocation in enumerate(arena.allocations, 1):
        first = allocation.start - arena.base
        bounds[number] = first, allocation.readable
        shadow[first // GRANULE : -(-(first + allocation.readable) // GRANULE)] = number
    private = 64 * _private_bytes(prepared.dispatch.kernel)
    private_shadow = np.ones(private // GRANULE + 1, np.uint16)
    private_bounds = np.array([[0, LEAST_SIZE], [0, private]], np.int64)
    return WorkerMemory(
        arena=(arena.buffer.ctypes.data, arena.base, size, shadow.ctypes.data, bounds.ctypes.data),
        private=(0, 0, private, private_shadow.ctypes.data, private_bounds.ctypes.data),
        code_base=prepared.code_base,
        soffset_in_range=prepared.options.soffset_in_range,
        keep=(shadow, bounds, private_shadow, private_bounds),
    )


# Reports


def _place(prepared: PreparedLaunch, trouble: Trouble, pc: int, lane: int | None) -> LaunchPoint:
    shown = text(decode(prepared.code.text, pc))
    return LaunchPoint(prepared.dispatch.workgroup(trouble.workgroup), trouble.wave, lane, pc, shown)


def _fault_report(prepared: PreparedLaunch, translated: Translated, fault: Trouble) -> MachineReport:
    if fault.fault == Fault.STEP_LIMIT:
        points = translated.facts["resume"]
        pc = points[fault.resume - 1] if 0 < fault.resume <= len(points) else translated.spec.entry
        limit = prepared.options.max_steps
        message = f"the launch has executed more than {limit} instructions without ending"
        return MachineReport("ARG-M107", message, _place(prepared, fault, pc, None))
    inst = decode(prepared.code.text, fault.pc)
    if fault.fault == Fault.TRAP:
        message = f"the kernel executed s_trap {inst.operands[0].value}"
        return MachineReport("ARG-M113", message, _place(prepared, fault, fault.pc, None))
    if fault.fault == Fault.REGISTER:
        beyond = translated.spec.file.beyond(inst) or ""
        return MachineReport("ARG-M108", beyond, _place(prepared, fault, fault.pc, None))
    if fault.fault == Fault.SWIZZLED:
        message = "a swizzled buffer resource, or one that adds the lane number, is not supported"
        return MachineReport("ARG-M109", message, _place(prepared, fault, fault.pc, None))
    scalar = inst.op.startswith("s_")
    place = _place(prepared, fault, fault.pc, None if scalar else fault.lane)
    size = access_size(inst.op)
    if fault.fault == Fault.MISALIGNED:
        message = f"an atomic of {size} bytes at {fault.address:#x}, which is not a multiple of {size}"
        return MachineReport("ARG-M105", message, place, address=fault.address, space="global")
    address = fault.address - OUTSIDE_BIT
    if address >= 0 and (inst.op.startswith("scratch_") or (inst.op.startswith("flat_") and address < 1 << 32)):
        share = _private_bytes(prepared.dispatch.kernel)
        return MachineReport(
            "ARG-M105", f"accesses scratch byte {address} of {share}", place, address=address, space="scratch"
        )
    verb = "scalar access" if scalar else "writes memory" if "store" in inst.op else "accesses memory"
    why = OutOfBounds(fault.lane, fault.address, size, prepared.arena.nearest(fault.address))
    message = f"{verb} outside every allocation: {why}"
    return MachineReport("ARG-M105", message, place, address=fault.address, space="global")


def _lds_report(prepared: PreparedLaunch, note: Trouble) -> MachineReport:
    inst = decode(prepared.code.text, note.pc)
    last = note.address + access_size(inst.op) - 1
    message = f"accesses LDS bytes {note.address} to {last}; the workgroup has {prepared.dispatch.lds_bytes}"
    place = _place(prepared, note, note.pc, note.lane)
    return MachineReport("ARG-M105", message, place, address=note.address, space="lds")


def access_size(op: str) -> int:
    """Bytes a lane moves at once."""
    return MEMORY[op].size if op in MEMORY else 4
