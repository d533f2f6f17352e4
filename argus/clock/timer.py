"""`time_record`: the machine's record of a kernel in, the account of one compute unit out.

    result = kernel(grid, block, a, b, c, options=Options(record=True, workgroups=[0, 8]))
    timing = time_record(result.record, insts, kernel_info)

`insts` are the decoded instructions of the kernel, `kernel_info` its entry in the code object (registers, LDS). The
record may hold a few workgroups of a large launch; see `argus.clock.model` for what several of them add.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from argus.clock.frontend import waves_of
from argus.clock.model import Resources, time_waves
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.timing import Timing
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
