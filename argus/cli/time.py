"""`argus time FILE`: how long a kernel takes on the simulated MI300X, and where the clocks go.
`argus time OBJECT --kernel … --grid … --block … --arg …`: the same for anybody's gfx942 code object.

The code object is executed with recording on, a sample of its workgroups on the interpreter or, when that takes long,
on the JIT; the others are taken to be like them. Every figure is labelled as simulated: clocks, time at a stated clock,
and time at the clock the launch's power allows.
"""

from __future__ import annotations

import argparse
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from argus import machine
from argus.cli.answers import TimeAnswer, emit
from argus.cli.gate import admitted_launch
from argus.cli.object_args import parse_arguments
from argus.cli.parser import near
from argus.cli.usage import GOOD, UsageError
from argus.clock import PARAMETERS, Launch, Parameters, Timing, write_trace
from argus.clock.ablation import MECHANISMS, without
from argus.clock.bottleneck import BOTTLENECKS
from argus.clock.data_loops import with_data_loops
from argus.clock.launch_stack import MEMORY_ROOFS, occupancy_text
from argus.clock.sampled import Work, matrix_element, prepared, sample, time_prepared
from argus.clock.whatif import BOUNDS, Change, what_if_recorded
from argus.compile import Compiled, compile_kernel
from argus.device.guards import launch_grid
from argus.gfx942 import chip
from argus.gfx942.elf import MAGIC
from argus.ir.kernel import Kernel
from argus.ir.ops import walk
from argus.machine.loader import KernelInfo
from argus.report.kernel_page import kernel_page, limit
from argus.tasks.work import work_of

LOWEST_MHZ = 100
WORTH_SAYING = 0.02


@dataclass(frozen=True, slots=True)
class TimedLaunch:
    """A launch given on the command line, with what ties its code to a source."""

    work: Work
    title: str
    places: Mapping[int, str] = field(default_factory=dict)
    buffers: Mapping[int, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def given(args: argparse.Namespace) -> TimedLaunch:
    """The launch the arguments describe."""
    path = Path(args.file)
    with path.open("rb") as file:
        is_object = file.read(4) == MAGIC
    if not LOWEST_MHZ <= args.device_clock <= chip.CLOCK_MAX_MHZ:
        raise UsageError(f"--device-clock takes {LOWEST_MHZ} to {chip.CLOCK_MAX_MHZ} MHz, not {args.device_clock:g}")
    if args.without is not None and args.without not in MECHANISMS:
        told = near(args.without, MECHANISMS) or f"; there are {', '.join(MECHANISMS)}"
        raise UsageError(f"--without: the clock has no mechanism {args.without!r}{told}")
    return _object(path, args) if is_object else _file(args)


def _file(args: argparse.Namespace) -> TimedLaunch:
    program, launch, _ = admitted_launch(args)
    kernel = program.kernel
    compiled = compile_kernel(program)
    if 0 in launch_grid(kernel, launch):
        raise UsageError("the launch is empty: no workgroup to time")
    work = work_of(kernel, compiled.object, launch, args.seed)
    shape = " ".join(f"{name}={size}" for name, size in launch.items())
    text = {Path(args.file).name: Path(args.file).read_text(encoding="utf-8")}
    info = work.kernel.info
    buffers = lds_buffers(compiled, info, kernel)
    return TimedLaunch(work, f"{kernel.name} {shape}", source_lines(compiled, info), buffers, text)


def _object(path: Path, args: argparse.Namespace) -> TimedLaunch:
    if args.set or args.shape:
        raise UsageError("--set and --shape belong to kernel files; an object takes --grid, --block and --arg")
    if not args.grid or not args.block:
        raise UsageError("a code object needs --grid and --block")
    arguments = parse_arguments(args.arg, args.seed)
    kernel = machine.load(path).kernel(args.kernel)
    grid, block = (_numbers(text, flag) for text, flag in ((args.grid, "--grid"), (args.block, "--block")))
    if 0 in grid or 0 in block:
        raise UsageError("the launch is empty: no workgroup to time")
    work = Work(kernel.info.name, kernel, grid, block, [a.value for a in arguments], lds=args.lds)
    return TimedLaunch(work, f"{path.name}: {kernel.info.name}")


def _numbers(text: str, flag: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.replace("x", ",").split(","))
    except ValueError as error:
        raise UsageError(f"{flag} takes one to three numbers, not {text!r}") from error


def without_mechanism(args: argparse.Namespace, parameters: Parameters = PARAMETERS) -> Parameters:
    """The clock's parameters, with the mechanism named by `--without` switched off."""
    return parameters if args.without is None else without(args.without, parameters)


def handle(args: argparse.Namespace) -> int:
    timed = given(args)
    work = timed.work
    seen = sample(work, args.seed)
    recorded = prepared(seen, args.seed)
    timing, launch = time_prepared(
        work,
        recorded,
        matrix_element(seen),
        clock_mhz=args.device_clock,
        warm=args.warm,
        protocol=args.protocol,
        parameters=without_mechanism(args),
        timeline=bool(args.trace or args.html),
    )
    launch = with_data_loops(launch, seen.insts)
    executed = sorted({number for number, _ in seen.record.waves})
    if args.trace:
        write_trace(timing, args.trace, timed.places)
    changes = [] if args.json and not args.html else what_if_recorded(recorded, timing)
    if args.html:
        text = kernel_page(timed.title, timing, launch, changes, timed.places, timed.files)
        Path(args.html).write_text(text, encoding="utf-8")
    if args.json:
        found = {"launch": launch.to_json(), "unit": timing.to_json(timed.places), "sampled": executed}
        emit(TimeAnswer, {**found, "executor": seen.executor, "note": seen.note})
        return GOOD
    print(f"{timed.title}, {work.workgroups} workgroups of {np.prod(work.block)} threads, {len(executed)} executed")
    print(launch.text())
    word = limit(launch, timing, changes)
    print(f"bottleneck     {word}: {BOTTLENECKS[word]}")
    print(_limits(launch, timing))
    print(timing.text(top=8, source=timed.places).split("\n", 1)[1])
    print(_what_helps(changes))
    if seen.note:
        print(f"note: {seen.note}")
    return GOOD


def _limits(launch: Launch, timing: Timing) -> str:
    """Occupancy and rooflines, in the words of `argus clock explain`."""
    roofs = "  ".join(f"{text} {100 * launch.parts[name] / launch.cycles:.0f} %" for name, text in MEMORY_ROOFS.items())
    matrix = f"matrix {100 * timing.utilisation['matrix']:.0f} %"
    return f"occupancy      {occupancy_text(timing)}\nrooflines      {matrix}  {roofs}  (time at that limit alone)"


def _what_helps(changes: Sequence[Change]) -> str:
    """The costs whose removal would shorten the work of one compute unit most."""
    worth = [change for change in changes if change.saved >= WORTH_SAYING and change.name not in BOUNDS][:4]
    if not worth:
        return "what would help: nothing in this list saves 2 % (conflicts, latency, barriers, s_nop, LDS rate)"
    return "what would help: " + ", ".join(f"{change.name} -{100 * change.saved:.0f} %" for change in worth)


def source_lines(compiled: Compiled, info: KernelInfo) -> Mapping[int, str]:
    """pc in the code section -> file:line, for every word of the kernel that belongs to an op of the source."""
    spans = {op["id"]: op["span"] for op in compiled.sidecar["ops"]}
    lines: dict[int, str] = {}
    for pc, op in _ops_at(compiled, info):
        if op in spans and spans[op][1]:
            file, line = spans[op][0], spans[op][1]
            lines[pc] = f"{file.rsplit('/', 1)[-1]}:{line}"
    return lines


def lds_buffers(compiled: Compiled, info: KernelInfo, kernel: Kernel) -> Mapping[int, str]:
    """pc in the code section -> the LDS buffer that its op touches."""
    names = {buffer.name for buffer in kernel.shared}
    touched = {op.id: [f.memory.name for f in op.footprints if f.memory.name in names] for op in walk(kernel.body)}
    return {pc: touched[op][0] for pc, op in _ops_at(compiled, info) if touched.get(op)}


def _ops_at(compiled: Compiled, info: KernelInfo) -> Iterator[tuple[int, int]]:
    """Every word of the kernel with the op it belongs to."""
    rows = compiled.sidecar["pcs"]
    starts = [pc for pc, _ in rows]
    for pc in range(starts[0] if starts else 0, info.end - info.entry, 4):
        yield info.entry + pc, rows[bisect_right(starts, pc) - 1][1]
