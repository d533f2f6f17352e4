"""Tuning a graph: alternatives at its decision points, tried on the clock.

    for result in tune(graph, small, bench, rows, TuningSettings(budget=40)): ...       one `TunedPoint` each

A point is tuned by planning the graph again with one answer changed; only the launches that differ are timed. What does
not compile, has no plan or is not faster by MARGIN is recorded and left. The best of a point gets a row only if

    every kernel it launches is proved,
    it computes the same (`argus.agent.tuning.value`),
    and it is faster than what it replaces, both timed by the same clock: by MARGIN by the clock as it is, and
    under at least the part WON of perturbed ones (`bench.faster`).

Where the rule's answer does not compile (C130), the fastest that does gets the row. A row counts at once: what is tuned
after it starts from the better plan.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from argus.agent.tuning.proposals import PlanProposal, ranked
from argus.agent.tuning.value import why_not
from argus.ops.choice import NoKernel
from argus.plan.choices import Alternative, Choices, DecisionPoint, DispatchRow
from argus.plan.graph import Graph, PlanError
from argus.plan.plan import Plan, PlannedLaunch
from argus.plan.planner import planned

MARGIN = 0.98
"""A time below this part of the rule's is worth a proof and a row."""


WON = 0.75
"""Part of other plausible clocks under which it has to be faster, too."""
GENERAL: Mapping[str, tuple[str, ...]] = {"product-tile": ("steps",)}
"""What rows leave out of shape classes: a tile serves a product with any chain, until one with this chain is tuned."""
SmallGraphs = Callable[[], Sequence[Graph]]


class TrialRefused(Exception):
    """An alternative that does not compile, or is not proved."""


@dataclass(frozen=True, slots=True)
class LaunchesTime:
    """Simulated time of some launches, added, with its interval."""

    us: float
    low: float
    high: float


class TuningBench(Protocol):
    """What times and proves. All raise `TrialRefused` with the reason."""

    clock: str

    def time(self, launches: Sequence[PlannedLaunch]) -> LaunchesTime: ...

    def faster(self, ours: Sequence[PlannedLaunch], theirs: Sequence[PlannedLaunch]) -> Mapping[str, Any]:
        """Time of ours over theirs: `ratio`, its interval `low` to `high`; `won` of perturbed `clocks`, both alike."""
        ...

    def evidence(self, launches: Sequence[PlannedLaunch]) -> list[dict[str, Any]]:
        """Every kernel, with what was proved of it."""
        ...


@dataclass(frozen=True, slots=True)
class TuningSettings:
    """`decisions`: which to tune, all if empty; `budget`: alternatives that are timed."""

    decisions: tuple[str, ...] = ()
    budget: int = 16


@dataclass(slots=True)
class TunedPoint:
    """What came out at a point: every alternative tried; the row, or why there is none."""

    point: DecisionPoint
    taken_us: float = 0.0
    tried: list[dict[str, Any]] = field(default_factory=list)
    row: DispatchRow | None = None
    why: str = ""


def tune(
    graph: Graph, small: SmallGraphs, bench: TuningBench, rows: Sequence[DispatchRow], settings: TuningSettings
) -> Iterator[TunedPoint]:
    """All points for which something was tried, the most promising first; `small` gives the graph at reduced sizes."""
    known = [*rows]
    proposals = proposed(graph, bench, known, settings)
    for name in dict.fromkeys(proposal.point.name for proposal in proposals):
        mine = [proposal for proposal in proposals if proposal.point.name == name]
        found = tuned(graph, small, bench, known, mine)
        if found is None:
            continue
        if found.row is not None:
            known = [found.row, *known]
        yield found


def proposed(
    graph: Graph, bench: TuningBench, rows: Sequence[DispatchRow], settings: TuningSettings
) -> list[PlanProposal]:
    """What is worth trying, within the budget."""
    choices = Choices(rows)
    base = planned(graph, choices=choices)
    points = [p for p in choices.points.values() if not settings.decisions or p.decision in settings.decisions]
    spent = {point.name: _spent(graph, base, point, bench, rows) for point in points}
    return ranked([point for point in points if spent[point.name] > 0], spent, rows, settings.budget)


def _spent(graph: Graph, base: Plan, point: DecisionPoint, bench: TuningBench, rows: Sequence[DispatchRow]) -> float:
    """The time of the launches that the first other alternative replaces."""
    for take in point.admissible():
        if dict(take) != dict(point.taken):
            other = with_answer(graph, point, take, rows)
            removed = differing(base, other)[0] if other is not None else []
            if removed:
                return _time_of(bench, removed)
    return 0.0


def _reason(error: TrialRefused) -> str:
    """The first line, without the place in a file of this machine."""
    first = str(error).splitlines()[0]
    return first.partition(": error ")[2] or first


def _time_of(bench: TuningBench, launches: Sequence[PlannedLaunch]) -> float:
    """Simulated us; without end for launches that do not compile."""
    try:
        return bench.time(launches).us
    except TrialRefused:
        return math.inf


def tuned(
    graph: Graph, small: SmallGraphs, bench: TuningBench, rows: Sequence[DispatchRow],
    proposals: Sequence[PlanProposal],
) -> TunedPoint | None:  # fmt: skip
    """One point; None where it is not asked any more."""
    choices = Choices(rows)
    base = planned(graph, choices=choices)
    point = choices.points.get(proposals[0].point.name)
    if point is None:
        return None
    found = TunedPoint(point)
    best: tuple[float, float, Alternative, Plan] | None = None
    for take in (proposal.take for proposal in proposals):
        outcome: dict[str, Any] = {"take": dict(take)}
        found.tried.append(outcome)
        other = with_answer(graph, point, take, rows)
        if other is None:
            outcome["why"] = "no plan"
            continue
        removed, added = differing(base, other)
        try:
            after = bench.time(added)
        except TrialRefused as error:
            outcome["why"] = _reason(error)
            continue
        before = _time_of(bench, removed)
        if before < math.inf:
            found.taken_us = max(found.taken_us, before)
        outcome |= {"us": round(after.us, 2), "low": round(after.low, 2), "high": round(after.high, 2)}
        left = after.us / before if before < math.inf else after.us - math.inf
        if left < MARGIN and (best is None or (left, after.us) < best[:2]):
            best = left, after.us, take, other
    if best is None:
        found.why = "nothing is faster"
        return found
    _ruled(found, base, best[3], best[2], small, bench)
    return found


def _ruled(
    found: TunedPoint, base: Plan, other: Plan, take: Alternative, small: SmallGraphs, bench: TuningBench
) -> None:
    """The row of the best alternative, or why it gets none."""
    removed, added = differing(base, other)
    point = found.point
    try:
        kernels = bench.evidence(added)
        found.why = why_not(base, other, small, point.decision, take)
        if found.why:
            return
        before = _time_of(bench, removed)
        verdict = bench.faster(added, removed) if before < math.inf else None
    except TrialRefused as error:
        found.why = _reason(error)
        return
    if verdict is not None and (verdict["ratio"] >= MARGIN or verdict["won"] < WON * verdict["clocks"]):
        found.why = f"{verdict['ratio']:.2f} of the time, less under {verdict['won']} of {verdict['clocks']} clocks"
        return
    time = bench.time(added)
    found.row = {
        "decision": point.decision,
        "shape": {name: value for name, value in point.shape.items() if name not in GENERAL.get(point.decision, ())},
        "take": dict(take),
        "us": round(time.us, 2),
        "low": round(time.low, 2),
        "high": round(time.high, 2),
        "default": dict(point.default),
        "default_us": round(before, 2) if verdict is not None else None,
        "tried": found.tried,
        "paired": verdict and {name: verdict[name] for name in ("ratio", "low", "high", "won", "clocks")},
        "kernels": kernels,
        "clock": bench.clock,
    }


def with_answer(graph: Graph, point: DecisionPoint, take: Alternative, rows: Sequence[DispatchRow]) -> Plan | None:
    """The plan with one answer changed; None if there is none, or the answer does not apply."""
    row = {"decision": point.decision, "shape": dict(point.shape), "take": dict(take)}
    choices = Choices([row, *rows])
    try:
        plan = planned(graph, choices=choices)
    except (PlanError, NoKernel):
        return None
    asked = choices.points.get(point.name)
    return plan if asked is not None and dict(asked.taken) == dict(take) else None


def differing(base: Plan, other: Plan) -> tuple[list[PlannedLaunch], list[PlannedLaunch]]:
    """Launches of the one plan that the other does not have, by kernel and sizes, and the other way round."""
    ones, twos = ([(_timed_as(each), each) for each in plan.launches] for plan in (base, other))
    return _without(ones, twos), _without(twos, ones)


def _timed_as(launch: PlannedLaunch) -> str:
    return repr((launch.key, sorted(launch.sizes.items())))


def _without(
    ones: Sequence[tuple[str, PlannedLaunch]], twos: Sequence[tuple[str, PlannedLaunch]]
) -> list[PlannedLaunch]:
    left = Counter(name for name, _ in twos)
    found = []
    for name, launch in ones:
        if left[name]:
            left[name] -= 1
        else:
            found.append(launch)
    return found
