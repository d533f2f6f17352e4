"""The time of a launch as a stack of parts that sum to it: causes on the compute unit, rounds, roofs, power, floor.

    for part in launch_stack(stack, timing, launch, mean_rounds):
        print(part.cause, part.microseconds)            # vmcnt_hbm 8.71, matrix_busy 6.96, ... launch_floor 2.70

    time = launch floor
         + full rounds of workgroups on the fullest compute unit      divided by the shares of its wave-clocks
         + turnaround between rounds + last round
         + roof: what the bandwidth of L2, MALL or HBM takes beyond the compute units
         + power: the same at the sustained clock less the same at the stated clock

All but power are at the stated clock. A last round is the rest of a grid that does not divide evenly, or the uneven
part when workgroups differ in work. `PARTS` names the causes that are not on a compute unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from argus.clock.launch import Launch, workgroups_on_fullest_cu
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.stall_stack import CAUSES, StallStack
from argus.clock.timing import Timing
from argus.gfx942 import chip

PARTS: Mapping[str, tuple[str, str]] = {
    "turnaround": ("launch", "between a workgroup and its successor"),
    "last_round": ("launch", "last round, uneven work"),
    "roof_l2": ("memory", "roofline: L2 bandwidth"),
    "roof_mall": ("memory", "roofline: Infinity Cache bandwidth"),
    "roof_hbm": ("memory", "roofline: HBM bandwidth"),
    "roof_atomics": ("memory", "roofline: atomics on one line"),
    "roof_dispatch": ("launch", "roofline: workgroups handed out"),
    "power": ("power", "clock below the stated one"),
    "launch_floor": ("launch", "launch floor"),
}


HALF = 0.5
NEAR_ROOF = 0.8
MEMORY_ROOFS = {"l2": "L2", "mall": "Infinity Cache", "hbm": "HBM"}
BOUND_BY = {
    "memory": "latency-bound",
    "matrix": "matrix-bound",
    "valu": "VALU-bound",
    "lds": "LDS-bound",
    "barrier": "barrier-bound",
    "issue": "issue-bound",
}


@dataclass(frozen=True, slots=True)
class TimePart:
    """Microseconds of a launch that one cause takes."""

    cause: str
    microseconds: float

    @property
    def group(self) -> str:
        return CAUSES[self.cause].group if self.cause in CAUSES else PARTS[self.cause][0]

    @property
    def title(self) -> str:
        return CAUSES[self.cause].title if self.cause in CAUSES else PARTS[self.cause][1]


@dataclass(frozen=True, slots=True)
class Rounds:
    """Clocks of the fullest compute unit: full rounds of workgroups, turnaround between them, the last round."""

    full: float
    turnaround: float
    last: float


def rounds(timing: Timing, launch: Launch, mean_rounds: float, parameters: Parameters = PARAMETERS) -> Rounds:
    """How the clocks of the compute units divide into rounds; `mean_rounds`: the work of the grid spread evenly."""
    compute = launch.parts["compute"]
    if launch.work_error is None:
        full = float(workgroups_on_fullest_cu(launch.grid) // timing.resident * timing.cycles)
        count = -(-workgroups_on_fullest_cu(launch.grid) // timing.resident)
    else:
        even = max(1.0, mean_rounds)
        full, count = timing.cycles * even, round(even)
    turnaround = min(parameters["workgroup_turnaround"] * (count - 1), max(0.0, compute - full))
    full = min(full, compute)
    return Rounds(full, turnaround, compute - full - turnaround)


def launch_stack(
    stack: StallStack,
    timing: Timing,
    launch: Launch,
    mean_rounds: float,
    parameters: Parameters = PARAMETERS,
) -> tuple[TimePart, ...]:
    """Parts that sum to the time at the sustained clock; those of nothing are left out."""
    found = rounds(timing, launch, mean_rounds, parameters)
    per_clock = 1 / launch.clock_mhz
    parts = {cause: found.full * per_clock * clocks / stack.total for cause, clocks in stack.causes.items()}
    parts["turnaround"] = found.turnaround * per_clock
    parts["last_round"] = found.last * per_clock
    parts[f"roof_{launch.bound}"] = (launch.cycles - launch.parts["compute"]) * per_clock
    parts["power"] = launch.sustained.microseconds - launch.microseconds
    parts["launch_floor"] = launch.microseconds - launch.cycles * per_clock
    return tuple(TimePart(cause, us) for cause, us in parts.items() if us)


def bound_class(stack: StallStack, timing: Timing, launch: Launch, parts: tuple[TimePart, ...]) -> tuple[str, str]:
    """In one word what limits the launch, and the figures that say so."""
    shares = _shares(parts)
    floor = shares.get("launch_floor", 0.0)
    if floor > HALF:
        return "launch-bound", f"the launch floor is {100 * floor:.0f} % of the time"
    roof = max(launch.parts[name] for name in MEMORY_ROOFS) / launch.cycles
    level = max(MEMORY_ROOFS, key=lambda name: launch.parts[name])
    if launch.bound == "dispatch":
        return "dispatch-bound", "handing out so many workgroups takes longest"
    if launch.bound == "atomics":
        return "atomic-bound", "atomics on one line take longest"
    if roof >= NEAR_ROOF:
        return "memory-bound", f"{MEMORY_ROOFS[level]} bandwidth alone takes {100 * roof:.0f} % of these clocks"
    matrix = timing.utilisation["matrix"]
    if matrix >= NEAR_ROOF:
        return "matrix-bound", f"the matrix cores are busy {100 * matrix:.0f} % of the clocks"
    groups = {name: clocks for name, clocks in stack.groups().items() if name in BOUND_BY}
    group = max(groups, key=lambda name: groups[name])
    share = 100 * groups[group] / stack.total
    return BOUND_BY[group], f"{group} takes {share:.0f} % of the wave-clocks, more than any other group"


def _shares(parts: tuple[TimePart, ...]) -> dict[str, float]:
    total = sum(part.microseconds for part in parts)
    return {part.cause: part.microseconds / total for part in parts}


def occupancy_text(timing: Timing) -> str:
    """Waves per SIMD against what registers and LDS allow."""
    waves = timing.waves / timing.resident
    return (
        f"{timing.resident} of {timing.occupancy} possible workgroups of {waves:.0f} waves per CU, "
        f"{timing.waves / chip.SIMDS_PER_CU:.1f} waves per SIMD"
    )
