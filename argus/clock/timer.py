"""The machine's record of a kernel in, the account of one compute unit and the estimate of the launch out.

    result = kernel(grid, block, a, b, c, options=Options(record=True, workgroups=[0, 8]))
    timing = time_record(result.record, insts, kernel_info)               # as many workgroups on the CU as fit
    timing, launch = time_launch(result.record, insts, kernel_info)       # as many as the grid puts there; whole launch

`insts` are the decoded instructions of the kernel, `kernel_info` its entry in the code object (registers, LDS). Whoever
times the same record under several parameters makes a `Recorded` of it once and calls `time_recorded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from argus.clock.caches import slowdown
from argus.clock.fold import Folded
from argus.clock.launch import (
    Launch,
    estimate,
    kept_by_mall,
    resident_workgroups,
    with_timing,
    workgroups_on_fullest_cu,
)
from argus.clock.model import time_waves
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.protocol import Protocol
from argus.clock.recorded import Recorded
from argus.clock.timing import Timing
from argus.gfx942 import chip
from argus.gfx942.inst import Inst
from argus.machine.loader import KernelInfo
from argus.machine.record import ExecutionRecord

LATENCY_TOLERANCE = 0.02
LOAD_ROUNDS = 5
CLOCK_TOLERANCE = 0.015
CLOCK_ROUNDS = 3


def time_record(
    record: ExecutionRecord | Folded,
    insts: Iterable[Inst],
    kernel: KernelInfo,
    *,
    dynamic_lds: int = 0,
    resident: int | None = None,
    parameters: Parameters = PARAMETERS,
    **options: Any,
) -> Timing:
    """Times the recorded workgroups on one compute unit; `options` are those of `argus.clock.model.time_waves`."""
    recorded = Recorded(record, insts, kernel, dynamic_lds=dynamic_lds)
    return _time(recorded, resident or recorded.room, parameters, options)


def time_launch(
    record: ExecutionRecord | Folded,
    insts: Iterable[Inst],
    kernel: KernelInfo,
    *,
    dynamic_lds: int = 0,
    grid: int | None = None,
    seed: int = 0,
    **options: Any,
) -> tuple[Timing, Launch]:
    """Times a recorded launch; `options` are those of `time_recorded`.

    grid   workgroups of the launch, when the record is one of a smaller launch of like workgroups
    """
    return time_recorded(Recorded(record, insts, kernel, dynamic_lds=dynamic_lds, grid=grid, seed=seed), **options)


def time_recorded(
    recorded: Recorded,
    *,
    flops: float | Literal["matrix"] | None = None,
    hbm_bytes: float | None = None,
    element: str | None = None,
    clock_mhz: float = chip.CLOCK_MAX_MHZ,
    warm: bool = False,
    protocol: Protocol = "stream",
    also: Iterable[float] = (),
    parameters: Parameters = PARAMETERS,
    **options: Any,
) -> tuple[Timing, Launch]:
    """Times the fullest compute unit as the grid fills it, last round included, and estimates the launch.

    flops     operations of the launch, or "matrix": those of its matrix instructions
    warm      the tensors lie in the Infinity Cache as far as they fit
    protocol  how the time would be taken; "cold" is never warm
    also      clocks to time at besides the stated and the sustained one

    Two things are fixed points. The latency of memory depends on how busy the launch keeps it, and that on the latency:
    a few rounds settle it (`settle`), starting from the load found at the last clock. The sustained clock depends on
    the cycles at that clock: the launch is timed at the stated clock, then at the clock its power allows, until the two
    agree within `CLOCK_TOLERANCE`.
    """
    resident = resident_workgroups(recorded.grid, recorded.room)
    rest = workgroups_on_fullest_cu(recorded.grid) % resident
    warm = warm and protocol != "cold"
    near = warm and hbm_bytes is not None and hbm_bytes <= kept_by_mall(parameters)
    options = {"warm": near, **options}

    level: Literal["mall", "hbm"] = "mall" if near else "hbm"

    def at(clock: float, load: float = 0.0, **given: Any) -> tuple[Timing, Launch]:
        def attempt(load: float) -> tuple[Timing, Launch]:
            chosen = {**options, **given, "memory_load": load, "clock_mhz": clock}
            timing = _time(recorded, resident, parameters, chosen)
            short = {**chosen, "timeline": False, "followers": ()}
            tail = _time(recorded, rest, parameters, short) if rest and timing.round_clocks is None else None
            return timing, estimate(
                timing,
                recorded.grid,
                tail=tail,
                flops=recorded.matrix_flops(timing) if flops == "matrix" else flops,
                hbm_bytes=hbm_bytes,
                element=element,
                work=recorded.work,
                warm=warm,
                hot_atomics=recorded.hot_atomics,
                sharing_error=recorded.sharing_error,
                across=recorded.across,
                missing_again=recorded.missing_again,
                from_memory=recorded.from_memory,
                protocol=protocol,
                parameters=parameters,
            )

        return settle(attempt, parameters, load, level)

    timing, launch = at(clock_mhz)
    timed = {clock_mhz}
    for clock in also:
        launch = with_timing(launch, at(clock, launch.load(level), timeline=False)[1], parameters)
        timed.add(clock)
    for _ in range(CLOCK_ROUNDS):
        held = launch.sustained.clock_mhz
        if min(abs(held / clock - 1) for clock in timed) <= CLOCK_TOLERANCE:
            break
        launch = with_timing(launch, at(held, launch.load(level), timeline=False)[1], parameters)
        timed.add(held)
    return timing, launch


def settle(
    attempt: Callable[[float], tuple[Timing, Launch]],
    parameters: Parameters = PARAMETERS,
    start: float = 0.0,
    level: Literal["mall", "hbm"] = "hbm",
) -> tuple[Timing, Launch]:
    """The attempt whose assumed load of a level gives the latency of the load it causes, within `LATENCY_TOLERANCE`."""

    def near(assumed: float, found: float) -> bool:
        first, second = slowdown(parameters, assumed), slowdown(parameters, min(1.0, found))
        return abs(first / second - 1) <= LATENCY_TOLERANCE

    low, high = 0.0, 1.0
    assumed = min(start, 1.0)
    timing, launch = attempt(assumed)
    for _ in range(LOAD_ROUNDS):
        if timing.read_bytes[level] == 0 or near(assumed, launch.load(level)):
            break
        if launch.load(level) > assumed:
            low = assumed
        else:
            high = assumed
        assumed = min(launch.load(level), high) if low == 0 and high == 1 else (low + high) / 2
        timing, launch = attempt(assumed)
    return timing, launch


def _time(recorded: Recorded, resident: int, parameters: Parameters, options: dict[str, Any]) -> Timing:
    ops, waves = recorded.waves(parameters)
    return time_waves(
        ops,
        waves,
        recorded.resources,
        resident=resident,
        parameters=parameters,
        **{
            "readers": recorded.readers,
            "active_cus": recorded.active_cus,
            "followers": recorded.waves_after(parameters),
            **options,
        },
    )
