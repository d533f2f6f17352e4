"""`argus time FILE`: how long the kernel takes on the simulated MI300X, and where the clocks go.

The code object is executed with recording on; of a large grid only a few workgroups of one XCD are executed, and the
rest are taken to be like them. Every figure is labelled as simulated.
"""

from __future__ import annotations

import argparse
import json
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np

from argus import machine
from argus.cli.gate import add_force, admitted_launch
from argus.cli.options import GOOD, UsageError, add_kernel_arguments
from argus.clock import estimate, kernel_resources, resident_workgroups, time_record, write_trace
from argus.compile import Compiled, compile_kernel
from argus.device.guards import launch_grid, tensor_shapes
from argus.device.launch import MachineDevice
from argus.gfx942 import chip
from argus.gfx942.decoder import decode_all
from argus.gfx942.mfma import ALIASES, MFMA
from argus.gfx942.occupancy import occupancy
from argus.ir.kernel import Kernel
from argus.ir.ops import Mfma, walk
from argus.machine.loader import KernelInfo
from argus.tasks.inputs import make_arrays, make_scalars


def register(verbs: Any) -> None:
    parser = verbs.add_parser("time", help="time a kernel on the simulated MI300X")
    add_kernel_arguments(parser)
    parser.add_argument("--trace", metavar="OUT", help="write a Perfetto trace of one compute unit")
    parser.add_argument("--seed", type=int, default=0, help="seed of the input data")
    add_force(parser)
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    kernel, launch = admitted_launch(args)
    compiled = compile_kernel(kernel)
    info = machine.load(compiled.object).kernel(kernel.name).info
    grid = int(np.prod(launch_grid(kernel, launch)))
    if grid == 0:
        raise UsageError("the launch is empty: no workgroup to time")
    resources = kernel_resources(info)
    room = occupancy(
        resources.vgprs, resources.agprs, resources.sgprs, resources.lds_bytes, kernel.waves
    ).workgroups_per_cu
    resident = resident_workgroups(grid, room)
    sample = sampled(grid, resident)
    device = MachineDevice(checks=False, record=True, workgroups=sample)
    outcome = device.launch(
        kernel, compiled.object, launch, make_arrays(kernel, launch, args.seed), make_scalars(kernel, args.seed)
    )
    if outcome.record is None:
        raise UsageError("the launch left no record")
    text = machine.load(compiled.object).code.text
    timing = time_record(
        outcome.record,
        decode_all(text, info.start, info.end),
        info,
        resident=resident,
        active_cus=min(grid, chip.CUS),
        events=bool(args.trace),
    )
    flops = timing.matrix_flops / timing.resident * grid
    moved = sum(
        int(np.prod(shape, dtype=np.int64)) * tensor.dtype.bytes
        for tensor, shape in zip(kernel.tensors, tensor_shapes(kernel, launch).values(), strict=True)
    )
    whole = estimate(timing, grid, flops=flops or None, hbm_bytes=moved, element=matrix_element(kernel))
    places = source_lines(compiled, info)
    if args.trace:
        write_trace(timing, args.trace, places)
    if args.json:
        print(json.dumps({"launch": whole.to_json(), "unit": timing.to_json(places), "sampled": sample}))
        return GOOD
    shape = " ".join(f"{name}={size}" for name, size in launch.items())
    print(f"{kernel.name} {shape}, {grid} workgroups of {kernel.threads} threads, {len(sample)} executed")
    print(whole.text())
    print(timing.text(top=8, source=places).split("\n", 1)[1])
    return GOOD


def sampled(grid: int, resident: int) -> list[int]:
    """The first workgroups of XCD 0 (workgroups go to the 8 XCDs in turn): those that share a cache and a CU."""
    return list(range(0, grid, chip.XCDS))[: max(2, resident)]


def matrix_element(kernel: Kernel) -> str | None:
    """Element type of the kernel's matrix instructions, for the share of peak."""
    types = {MFMA[ALIASES[op.inst]].a for op in walk(kernel.body) if isinstance(op, Mfma)}
    return types.pop() if len(types) == 1 else None


def source_lines(compiled: Compiled, info: KernelInfo) -> Mapping[int, str]:
    """pc in the code section -> file:line, for every word of the kernel that belongs to an op of the source."""
    spans = {op["id"]: op["span"] for op in compiled.sidecar["ops"]}
    rows = compiled.sidecar["pcs"]
    starts = [pc for pc, _ in rows]
    lines: dict[int, str] = {}
    for pc in range(starts[0] if starts else 0, info.end - info.entry, 4):
        op = rows[bisect_right(starts, pc) - 1][1]
        if op in spans and spans[op][1]:
            file, line = spans[op][0], spans[op][1]
            lines[info.entry + pc] = f"{file.rsplit('/', 1)[-1]}:{line}"
    return lines
