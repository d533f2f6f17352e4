"""The machine's record of a kernel in, the account of one compute unit and the estimate of the launch out.

    result = kernel(grid, block, a, b, c, options=Options(record=True, workgroups=[0, 8]))
    timing = time_record(result.record, insts, kernel_info)               # as many workgroups on the CU as fit
    timing, launch = time_launch(result.record, insts, kernel_info)       # as many as the grid puts there; whole launch

`insts` are the decoded instructions of the kernel, `kernel_info` its entry in the code object (registers, LDS). The
record may hold a few workgroups of a large launch; see `argus.clock.model` for what several of them add.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from argus.clock.frontend import waves_of
from argus.clock.launch import Launch, estimate, resident_workgroups, workgroups_on_fullest_cu
from argus.clock.model import Resources, room_for, time_waves
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.timing import Timing
from argus.gfx942 import chip
from argus.gfx942.inst import Inst
from argus.gfx942.occupancy import MAX_ARCH_REGISTERS
from argus.machine.loader import KernelInfo
from argus.machine.record import ExecutionRecord


def kernel_resources(kernel: KernelInfo, dynamic_lds: int = 0) -> Resources:
    """What the kernel's descriptor asks for; its vector register count covers both halves of the file."""
    total = kernel.descriptor.vgprs
    return Resources(
        vgprs=min(total, MAX_ARCH_REGISTERS),
        agprs=max(0, total - MAX_ARCH_REGISTERS),
        sgprs=kernel.descriptor.sgprs,
        lds_bytes=kernel.group_segment_fixed_size + dynamic_lds,
    )


def time_record(
    record: ExecutionRecord,
    insts: Iterable[Inst],
    kernel: KernelInfo,
    *,
    dynamic_lds: int = 0,
    parameters: Parameters = PARAMETERS,
    **options: Any,
) -> Timing:
    """Times the recorded workgroups on one compute unit; `options` are those of `argus.clock.model.time_waves`."""
    ops, workgroups = waves_of(record, insts, parameters)
    return time_waves(ops, workgroups, kernel_resources(kernel, dynamic_lds), parameters=parameters, **options)


def time_launch(
    record: ExecutionRecord,
    insts: Iterable[Inst],
    kernel: KernelInfo,
    *,
    dynamic_lds: int = 0,
    flops: float | None = None,
    hbm_bytes: float | None = None,
    element: str | None = None,
    clock_mhz: float = chip.CLOCK_MAX_MHZ,
    parameters: Parameters = PARAMETERS,
    **options: Any,
) -> tuple[Timing, Launch]:
    """Times the fullest compute unit as the recorded grid fills it, last round included, and estimates the launch."""
    ops, workgroups = waves_of(record, insts, parameters)
    if not workgroups:
        raise ValueError("there is no wave to time: the record is empty")
    resources = kernel_resources(kernel, dynamic_lds)
    grid = math.prod(record.grid)
    room = room_for(resources, max(len(waves) for waves in workgroups.values()))
    resident = resident_workgroups(grid, room)
    rest = workgroups_on_fullest_cu(grid) % resident
    common = {"clock_mhz": clock_mhz, "active_cus": min(grid, chip.CUS), "parameters": parameters, **options}
    timing = time_waves(ops, workgroups, resources, resident=resident, **common)
    tail = time_waves(ops, workgroups, resources, resident=rest, **common) if rest else None
    launch = estimate(timing, grid, tail=tail, flops=flops, hbm_bytes=hbm_bytes, element=element, parameters=parameters)
    return timing, launch
