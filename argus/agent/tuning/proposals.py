"""Which alternative to try next, of all decision points of a plan: the one that may save the most time.

    ranked(points, spent, rows, 40)      [PlanProposal(point, {"BM": 224, ...}, 31.5), ...]

`spent` is the simulated time of the launches that a point decides. What an alternative may save of it is told by the
rows there are, near classes counting more, and by the knowledge base where there are none: the entry that names the
decision has an expected gain (log2). Of alternatives nobody has tried, those that the planner finds more plausible come
first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from argus.knowledge import load
from argus.plan.choices import Alternative, DecisionPoint, DispatchRow, ShapeClass

PRIOR = 0.5
"""How much the knowledge base's gain counts beside a row of the very class."""
LATER = 0.9
"""What is left of an untried alternative's expected gain with every place it is further behind."""
OTHER = 4.0
"""How far apart classes are that differ in a word: as four doublings of a size."""
UNBUILT = 1e9
"""Microseconds that stand for launches that do not compile: they are tuned first."""
PER_POINT = 16
"""Alternatives of a point that are looked at."""


@dataclass(frozen=True, slots=True)
class PlanProposal:
    """An alternative at a decision point, and the microseconds it is expected to save."""

    point: DecisionPoint
    take: Alternative
    saves: float


def ranked(
    points: Iterable[DecisionPoint], spent: Mapping[str, float], rows: Sequence[DispatchRow], most: int
) -> list[PlanProposal]:
    """The `most` promising proposals, best first; `spent`: us by the name of a point."""
    found = []
    for point in points:
        gain = expected_gain(point.decision)
        alternatives = [*_known(point, rows), *islice(point.admissible(), PER_POINT)]
        unique = [take for number, take in enumerate(alternatives) if take not in alternatives[:number]]
        untried = 0
        for take in unique:
            if dict(take) == dict(point.taken):
                continue
            told = _experience(point, take, rows)
            log2 = (PRIOR * gain * LATER**untried + sum(w * g for w, g in told)) / (PRIOR + sum(w for w, _ in told))
            untried += not told
            found.append(PlanProposal(point, take, min(spent.get(point.name, 0.0), UNBUILT) * (1 - 2**-log2)))
    return sorted(found, key=lambda p: -p.saves)[:most]


def expected_gain(decision: str) -> float:
    """The log2 speed-up that the knowledge base expects of a decision's alternatives."""
    return max((entry.gain for entry in load().values() if decision in entry.decisions), default=0.05)


def distance(one: ShapeClass, other: ShapeClass) -> float:
    """Doublings between two classes; words that differ are some doublings apart."""
    far = 0.0
    for name in one.keys() & other.keys():
        a, b = one[name], other[name]
        if type(a) is int and type(b) is int and a > 0 and b > 0:
            far += abs(math.log2(a / b))
        elif a != b:
            far += OTHER
    return far


def _known(point: DecisionPoint, rows: Sequence[DispatchRow]) -> list[Alternative]:
    """What rows of the decision take, the nearest first, as far as it is possible here."""
    near = sorted(
        (row for row in rows if row["decision"] == point.decision), key=lambda row: distance(row["shape"], point.shape)
    )
    wanted = [dict(row["take"]) for row in near]
    able = [dict(take) for take in point.admissible()] if wanted else []
    return [take for take in wanted if take in able]


def _experience(point: DecisionPoint, take: Alternative, rows: Sequence[DispatchRow]) -> list[tuple[float, float]]:
    """Weight and log2 gain of every row that has tried this."""
    found = []
    for row in rows:
        if row["decision"] != point.decision or row["default_us"] is None:
            continue
        weight = 2.0 ** -distance(row["shape"], point.shape)
        for tried in row["tried"]:
            if tried["take"] == dict(take) and "us" in tried:
                found.append((weight, math.log2(row["default_us"] / tried["us"])))
    return found
