"""The simulated time of a plan: launches added, each kind of launch timed once and kept on disk.

    simulated(plan, "graph", Path("out/launches"))      {"simulated_us": 41.2, "low_us": ..., "costs": [...]}

A launch's time depends on its object and its sizes: it is found by the compiler's key of the kernel, the sizes, the
protocol and the clock (`argus.bench.kept`). Tasks that share a launch, and later runs, take the kept time. `costs` says
which launches the time is spent in, the longest first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from argus.bench.contestant import from_choice
from argus.bench.kept import Kept, Timed
from argus.clock.protocol import Protocol as Protocol
from argus.compile.cache import key
from argus.ops.choice import Choice
from argus.plan.plan import Plan, PlannedLaunch
from argus.plan.planner import kernel_of

LAUNCHES = Path("out") / "launches"
SHOWN = 6
"""Kinds of launches that a record lists."""


def simulated(plan: Plan, protocol: Protocol, keep: Path | None = LAUNCHES, *, proved: bool = True) -> dict[str, Any]:
    """The plan's time at full size on the clock; `proved=False`: kernels are compiled, but not proved first."""
    kept = Kept(keep, protocol)
    counts = Counter(map(timed_key, plan.launches))
    kinds = {timed_key(launch): launch for launch in plan.launches}
    times = {each: timed_launch(launch, kept, proved) for each, launch in kinds.items()}
    costs = [_cost(kinds[each], times[each], count) for each, count in counts.items()]
    return {
        "simulated_us": round(math.fsum(cost["us"] for cost in costs), 2),
        "low_us": round(math.fsum(_bound(times[each], 0) * count for each, count in counts.items()), 2),
        "high_us": round(math.fsum(_bound(times[each], 1) * count for each, count in counts.items()), 2),
        "protocol": protocol,
        "costs": _longest(costs),
    }


def timed_key(launch: PlannedLaunch) -> tuple[Any, ...]:
    """What the time of a launch depends on: kernel, knobs and sizes."""
    return launch.key, tuple(launch.sizes.items())


def timed_launch(launch: PlannedLaunch, kept: Kept, proved: bool = True) -> Timed:
    """One launch, from the kept times or from the clock."""
    kernel = kernel_of(launch.file, launch.kernel, tuple(sorted(launch.knobs.items())))
    sizes = " ".join(f"{name}={value}" for name, value in launch.sizes.items())
    choice = Choice(launch.file, launch.kernel, launch.knobs)
    words = f"{launch.file}:{launch.kernel} {sizes} {key(kernel)}"
    return kept.time(words, lambda: from_choice(launch.kernel, choice, launch.sizes, proved), ())


def _bound(timed: Timed, side: int) -> float:
    assert timed.interval is not None
    return (timed.interval.low, timed.interval.high)[side]


def _cost(launch: PlannedLaunch, timed: Timed, count: int) -> dict[str, Any]:
    named = f"{launch.file}:{launch.kernel}" if launch.file != launch.kernel else launch.file
    sizes = " ".join(f"{name}={value}" for name, value in launch.sizes.items())
    return {"launch": f"{named} {sizes}", "count": count, "us": round(timed.us * count, 2)}


def _longest(costs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(costs, key=lambda cost: -float(cost["us"]))[:SHOWN]
