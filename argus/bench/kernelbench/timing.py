"""The simulated time of a plan: launches added, each kind of launch timed once and kept on disk.

    simulated(plan, "graph", Path("out/launches"))      {"simulated_us": 41.2, "low_us": ..., "costs": [...]}

A launch's time depends on its object and its sizes: it is found by the compiler's key of the kernel, the sizes, the
protocol and the clock (`argus.bench.kept`). Tasks that share a launch, and later runs, take the kept time. `costs` says
which launches the time is spent in, the longest first.

Matrix cores take less power of numbers between 0 and 1 than of both signs (`argus.clock.power`), and KernelBench draws
every input with `torch.rand`. So a product whose two factors are inputs of the task, or copies of them, is timed with
positive factors; weights have both signs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from argus.bench.contestant import from_choice
from argus.bench.kept import Kept, Timed
from argus.clock.power import Data
from argus.clock.protocol import Protocol as Protocol
from argus.compile.cache import key
from argus.ops.choice import Choice
from argus.plan.plan import Plan, PlannedLaunch
from argus.plan.planner import kernel_of

LAUNCHES = Path("out") / "launches"
SHOWN = 6
"""Kinds of launches that a record lists."""
FACTORS = ("A", "B")
"""Arguments of the templates of products that are multiplied."""
COPIES = ("pad", "reorder", "transpose")
"""Templates that move numbers and change none."""


def simulated(plan: Plan, protocol: Protocol, keep: Path | None = LAUNCHES, *, proved: bool = True) -> dict[str, Any]:
    """The plan's time at full size on the clock; `proved=False`: kernels are compiled, but not proved first."""
    kept = Kept(keep, protocol)
    data = [*zip(plan.launches, factors(plan), strict=True)]
    counts = Counter((timed_key(launch), drawn) for launch, drawn in data)
    kinds = {(timed_key(launch), drawn): launch for launch, drawn in data}
    times = {each: timed_launch(launch, kept, proved, each[1]) for each, launch in kinds.items()}
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


def factors(plan: Plan) -> list[Data]:
    """For each launch, what the factors of its product are; of other launches nothing depends on it."""
    positive = {*plan.inputs}
    found: list[Data] = []
    for launch in plan.launches:
        read = {view.buffer for name, view in launch.arguments.items() if name not in launch.writes}
        if launch.file in COPIES and read <= positive:
            written = (plan.buffers[launch.arguments[name].buffer] for name in launch.writes)
            positive |= {buffer.name for buffer in written if buffer.fill is None or 0 <= buffer.fill <= 1}
        else:
            positive -= {launch.arguments[name].buffer for name in launch.writes}
        multiplied = [launch.arguments[name].buffer for name in FACTORS if name in launch.arguments]
        found.append("positive" if len(multiplied) == len(FACTORS) and positive.issuperset(multiplied) else "signed")
    return found


def timed_launch(launch: PlannedLaunch, kept: Kept, proved: bool = True, data: Data = "signed") -> Timed:
    """One launch, from the kept times or from the clock; `data`: what the factors of a product are."""
    kernel = kernel_of(launch.file, launch.kernel, tuple(sorted(launch.knobs.items())))
    sizes = " ".join(f"{name}={value}" for name, value in launch.sizes.items())
    choice = Choice(launch.file, launch.kernel, launch.knobs)
    words = f"{launch.file}:{launch.kernel} {sizes} {key(kernel)}"
    return kept.time(words, lambda: from_choice(launch.kernel, choice, launch.sizes, proved), (), data)


def _bound(timed: Timed, side: int) -> float:
    assert timed.interval is not None
    return (timed.interval.low, timed.interval.high)[side]


def _cost(launch: PlannedLaunch, timed: Timed, count: int) -> dict[str, Any]:
    named = f"{launch.file}:{launch.kernel}" if launch.file != launch.kernel else launch.file
    sizes = " ".join(f"{name}={value}" for name, value in launch.sizes.items())
    return {"launch": f"{named} {sizes}", "count": count, "us": round(timed.us * count, 2)}


def _longest(costs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(costs, key=lambda cost: -float(cost["us"]))[:SHOWN]
