"""The machine's record of a kernel in, the account of one compute unit and the estimate of the launch out.

    result = kernel(grid, block, a, b, c, options=Options(record=True, workgroups=[0, 8]))
    timing = time_record(result.record, insts, kernel_info)               # as many workgroups on the CU as fit
    timing, launch = time_launch(result.record, insts, kernel_info)       # as many as the grid puts there; whole launch

`insts` are the decoded instructions of the kernel, `kernel_info` its entry in the code object (registers, LDS). The
record may hold a few workgroups of a large launch: those of `workgroups_to_record`. If it holds all workgroups that run
on one XCD at a time, their common cache lines divide the traffic beyond the L2.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from argus.clock.frontend import readers_of_lines, waves_of
from argus.clock.launch import Launch, estimate, resident_workgroups, workgroups_on_fullest_cu
from argus.clock.model import Resources, room_for, time_waves
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.timing import Timing
from argus.gfx942 import chip
from argus.gfx942.inst import Inst
from argus.gfx942.occupancy import MAX_ARCH_REGISTERS
from argus.machine.loader import KernelInfo
from argus.machine.record import ExecutionRecord

LOAD_TOLERANCE = 0.04
LOAD_ROUNDS = 5


def kernel_resources(kernel: KernelInfo, dynamic_lds: int = 0) -> Resources:
    """What the kernel's descriptor asks for; its vector register count covers both halves of the file."""
    total = kernel.descriptor.vgprs
    return Resources(
        vgprs=min(total, MAX_ARCH_REGISTERS),
        agprs=max(0, total - MAX_ARCH_REGISTERS),
        sgprs=kernel.descriptor.sgprs,
        lds_bytes=kernel.group_segment_fixed_size + dynamic_lds,
    )


def together_on_xcd(grid: int, room: int) -> int:
    """Workgroups that run on the fullest XCD at a time."""
    return min(-(-grid // chip.XCDS), chip.CUS_PER_XCD * resident_workgroups(grid, room))


def workgroups_to_record(grid: int, room: int, sharing: bool = False) -> list[int]:
    """A sample for the clock: the workgroups that meet on one CU, or (`sharing`) all that meet on one XCD."""
    first = list(range(0, grid, chip.XCDS))
    together = first[: together_on_xcd(grid, room)]
    return together if sharing else together[:: chip.CUS_PER_XCD]


def time_record(
    record: ExecutionRecord,
    insts: Iterable[Inst],
    kernel: KernelInfo,
    *,
    dynamic_lds: int = 0,
    resident: int | None = None,
    parameters: Parameters = PARAMETERS,
    **options: Any,
) -> Timing:
    """Times the recorded workgroups on one compute unit; `options` are those of `argus.clock.model.time_waves`."""
    sample = _Sample(record, tuple(insts), kernel_resources(kernel, dynamic_lds), parameters)
    return sample.time(resident or sample.room, **options)


def time_launch(
    record: ExecutionRecord,
    insts: Iterable[Inst],
    kernel: KernelInfo,
    *,
    dynamic_lds: int = 0,
    flops: float | None = None,
    hbm_bytes: float | None = None,
    element: str | None = None,
    parameters: Parameters = PARAMETERS,
    **options: Any,
) -> tuple[Timing, Launch]:
    """Times the fullest compute unit as the recorded grid fills it, last round included, and estimates the launch.

    The latency of memory depends on how busy the launch keeps it, and that on the latency: a few rounds settle it.
    """
    sample = _Sample(record, tuple(insts), kernel_resources(kernel, dynamic_lds), parameters)
    grid = math.prod(record.grid)
    resident = resident_workgroups(grid, sample.room)
    rest = workgroups_on_fullest_cu(grid) % resident

    def attempt(load: float) -> tuple[Timing, Launch]:
        timing = sample.time(resident, hbm_load=load, **options)
        tail = sample.time(rest, hbm_load=load, **{**options, "events": False}) if rest else None
        return timing, estimate(
            timing, grid, tail=tail, flops=flops, hbm_bytes=hbm_bytes, element=element, parameters=parameters
        )

    return settle(attempt)


def settle(attempt: Callable[[float], tuple[Timing, Launch]]) -> tuple[Timing, Launch]:
    """The attempt whose assumed memory load is the one it causes, within `LOAD_TOLERANCE`."""
    low, high = 0.0, 1.0
    timing, launch = attempt(low)
    assumed = low
    for _ in range(LOAD_ROUNDS):
        if timing.read_bytes["hbm"] == 0 or abs(launch.hbm_load - assumed) <= LOAD_TOLERANCE:
            break
        if launch.hbm_load > assumed:
            low = assumed
        else:
            high = assumed
        assumed = min(launch.hbm_load, high) if low == 0 and high == 1 else (low + high) / 2
        timing, launch = attempt(assumed)
    return timing, launch


class _Sample:
    """The recorded workgroups of the first one's XCD: some are timed, all (if complete) say who reads which line."""

    def __init__(
        self, record: ExecutionRecord, insts: tuple[Inst, ...], resources: Resources, parameters: Parameters
    ) -> None:
        if not record.waves:
            raise ValueError("there is no wave to time: the record is empty")
        self.resources, self.parameters = resources, parameters
        sizes = Counter(workgroup for workgroup, _ in record.waves)
        numbers = sorted(sizes)
        self.neighbours = [n for n in numbers if chip.xcd_of_workgroup(n) == chip.xcd_of_workgroup(numbers[0])]
        self.room = room_for(resources, max(sizes.values()))
        grid = math.prod(record.grid)
        self.active_cus = min(grid, chip.CUS)
        together = together_on_xcd(grid, self.room)
        complete = len(self.neighbours) >= together
        self.readers = readers_of_lines(record, insts, self.neighbours[:together]) if complete else None
        self.ops, self.waves = waves_of(record, insts, parameters, self._on_one_cu(self.room))

    def _on_one_cu(self, count: int) -> list[int]:
        """Workgroups that meet on one CU: an XCD fills its CUs in turn, so every 38th, as far as recorded."""
        spread = self.neighbours[:: chip.CUS_PER_XCD]
        return (spread + [n for n in self.neighbours if n not in spread])[:count]

    def time(self, resident: int, **options: Any) -> Timing:
        options.setdefault("active_cus", self.active_cus)
        return time_waves(
            self.ops,
            self.waves,
            self.resources,
            resident=resident,
            readers=self.readers,
            parameters=self.parameters,
            **options,
        )
