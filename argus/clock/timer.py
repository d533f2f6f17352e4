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
from typing import Any, Literal

from argus.clock.atomics import busiest_line
from argus.clock.dispatch import nearest
from argus.clock.frontend import waves_of
from argus.clock.launch import Launch, estimate, resident_workgroups, with_curve, workgroups_on_fullest_cu
from argus.clock.model import Resources, room_for, time_waves
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.timing import Timing
from argus.clock.xcd import fetches_per_miss
from argus.gfx942 import chip
from argus.gfx942.inst import Inst
from argus.gfx942.occupancy import MAX_ARCH_REGISTERS
from argus.machine.loader import KernelInfo
from argus.machine.record import ExecutionRecord

LOAD_TOLERANCE = 0.04
LOAD_ROUNDS = 5
LEAST_SHARERS = 8
"""Workgroups of an XCD that must be recorded to say who shares its cache lines, if it runs more."""


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
    grid: int | None = None,
    flops: float | Literal["matrix"] | None = None,
    hbm_bytes: float | None = None,
    element: str | None = None,
    clock_mhz: float = chip.CLOCK_MAX_MHZ,
    warm: bool = False,
    seed: int = 0,
    parameters: Parameters = PARAMETERS,
    **options: Any,
) -> tuple[Timing, Launch]:
    """Times the fullest compute unit as the grid fills it, last round included, and estimates the launch.

    grid   workgroups of the launch, when the record is one of a smaller launch of like workgroups
    flops  operations of the launch, or "matrix": those of its matrix instructions
    warm   the tensors lie in the Infinity Cache as far as they fit

    The latency of memory depends on how busy the launch keeps it, and that on the latency: a few rounds settle it. The
    launch is timed at the stated clock and again at the sustained clock that the first timing predicts.
    """
    sample = _Sample(record, tuple(insts), kernel_resources(kernel, dynamic_lds), parameters, grid, seed)
    resident = resident_workgroups(sample.grid, sample.room)
    rest = workgroups_on_fullest_cu(sample.grid) % resident
    near = warm and hbm_bytes is not None and hbm_bytes <= chip.count("mall_bytes")
    options = {"warm": near, **options}

    def at(clock: float, **given: Any) -> tuple[Timing, Launch]:
        def attempt(load: float) -> tuple[Timing, Launch]:
            chosen = {**options, **given, "hbm_load": load, "clock_mhz": clock}
            timing = sample.time(resident, **chosen)
            tail = sample.time(rest, **{**chosen, "events": False}) if rest else None
            return timing, estimate(
                timing,
                sample.grid,
                tail=tail,
                flops=sample.matrix_flops(timing) if flops == "matrix" else flops,
                hbm_bytes=hbm_bytes,
                element=element,
                work=sample.work,
                warm=warm,
                hot_atomics=sample.hot_atomics,
                parameters=parameters,
            )

        return settle(attempt)

    timing, launch = at(clock_mhz)
    slower = 50 * round(launch.sustained.clock_mhz / 50)
    if abs(slower - clock_mhz) >= 50:
        launch = with_curve(launch, at(slower, events=False)[1], parameters)
    return timing, launch


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
        self,
        record: ExecutionRecord,
        insts: tuple[Inst, ...],
        resources: Resources,
        parameters: Parameters,
        grid: int | None = None,
        seed: int = 0,
    ) -> None:
        if not record.waves:
            raise ValueError("there is no wave to time: the record is empty")
        self.resources, self.parameters = resources, parameters
        sizes = Counter(workgroup for workgroup, _ in record.waves)
        numbers = sorted(sizes)
        self.neighbours = [n for n in numbers if chip.xcd_of_workgroup(n) == chip.xcd_of_workgroup(numbers[0])]
        self.room = room_for(resources, max(sizes.values()))
        self.grid = grid or math.prod(record.grid)
        self.active_cus = min(self.grid, chip.CUS)
        together = together_on_xcd(self.grid, self.room)
        enough = len(self.neighbours) >= min(together, LEAST_SHARERS)
        taken = self.neighbours[:together]
        self.readers = fetches_per_miss(record, insts, taken, seed, together) if enough else None
        self.work = self._work(record)
        self.hot_atomics = busiest_line(record, insts, self.grid)
        self.ops, self.waves = waves_of(record, insts, parameters, self._on_one_cu(self.room))

    def _work(self, record: ExecutionRecord) -> dict[int, float] | None:
        """Instructions of recorded workgroups relative to the timed ones; None when another grid was recorded."""
        if self.grid != math.prod(record.grid):
            return None
        total: Counter[int] = Counter()
        for (workgroup, _), wave in record.waves.items():
            total[workgroup] += len(wave.pc)
        timed = self._on_one_cu(resident_workgroups(self.grid, self.room))
        mean = sum(total[number] for number in timed) / len(timed)
        return {number: count / mean for number, count in total.items()}

    def matrix_flops(self, timing: Timing) -> float | None:
        """Operations of the matrix instructions of the whole launch."""
        shares = self.grid if self.work is None else sum(nearest(self.work, self.grid))
        return timing.matrix_flops / timing.resident * shares or None

    def _on_one_cu(self, count: int) -> list[int]:
        """Workgroups that meet on one CU: an XCD fills its CUs in turn, so every 38th, as far as recorded."""
        first = self.neighbours[0]
        spread = [n for n in self.neighbours if (n - first) // chip.XCDS % chip.CUS_PER_XCD == 0]
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
