"""Decision points of the planner, and the dispatch table that answers them (`argus/kernels/choices.json`).

    choices = Choices(shipped())                       the table; Choices() knows the rules alone
    choices.take("split-k", {"m": 256, ...}, {"SPLITS": 1}, admissible)      what the table says, else the default
    choices.points                                     everything that was asked while a graph was planned

A decision point is asked for a *shape class*: what the time depends on, as data. A row of the table answers all classes
that have its entries, so a row may leave out what does not matter; of several the one with the most entries counts. An
alternative that is not admissible here is ignored, and the rule decides. Rows are written by `argus tune`
(`argus.agent.tuning`), with the times of all alternatives that were tried. A new decision is a row of DECISIONS, a call
of `take` where it is made, and an entry of the knowledge base that names it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from argus.ir.kernel import KnobValue
from argus.ops.choice import table

Alternative = Mapping[str, KnobValue]
"""What may be done at a decision point, as names and values."""
ShapeClass = Mapping[str, KnobValue]
DispatchRow = Mapping[str, Any]

DECISIONS: Mapping[str, str] = {
    "product-tile": "tile, waves and pipeline of a product of a 2-byte type",
    "split-k": "parts of K of a product that nothing follows, added up by a launch of their own",
    "aligned-copies": "operands of a product copied to rows of whole accesses first",
    "conv-tile": "pixels, channels and accesses of a convolution's workgroup",
    "window-rows": "a convolution as a product with its windows, copied to rows",
    "window-channels": "planes and rows of a convolution's window copied to channels first, in three dimensions",
    "fuse-chain": "the maps after a product, convolution or pooling in its launch, or in launches of their own",
    "fuse-reduction": "the maps before a reduction in its launch, or in one of their own",
    "map-pieces": "accesses of a thread in a launch of maps alone",
    "launch-parts": "a launch that would reach 2 GiB as even parts, or as full ones and a rest",
    "pool-passes": "windows along columns and along rows in one launch, or one after the other",
}
"""All decisions, and what each is about."""


@dataclass(frozen=True, slots=True)
class DecisionPoint:
    """A decision for a shape class: the rule's answer, the one that was taken, and all that are possible, the most
    plausible first."""

    decision: str
    shape: ShapeClass
    default: Alternative
    taken: Alternative
    admissible: Callable[[], Iterable[Alternative]]

    @property
    def name(self) -> str:
        return point_name(self.decision, self.shape)


def point_name(decision: str, shape: ShapeClass) -> str:
    return f"{decision} {json.dumps(dict(shape), sort_keys=True)}"


def varied(alternatives: Iterable[Alternative], names: Sequence[str]) -> Iterator[Alternative]:
    """Alternatives in another order: the first of each kind, told by `names`, then the second of each."""
    kinds: dict[tuple[KnobValue, ...], list[Alternative]] = {}
    for each in alternatives:
        kinds.setdefault(tuple(each[name] for name in names), []).append(each)
    for row in zip_longest(*kinds.values()):
        yield from (each for each in row if each is not None)


def shipped() -> Sequence[DispatchRow]:
    """The rows of the library's table."""
    rows: Sequence[DispatchRow] = table("choices")["rows"]
    return rows


class Choices:
    """Answers for one plan. `forced`: alternatives by decision, taken wherever they are admissible (trials)."""

    def __init__(self, rows: Iterable[DispatchRow] = (), forced: Mapping[str, Alternative] | None = None) -> None:
        self.rows = tuple(rows)
        self.forced = forced or {}
        self.points: dict[str, DecisionPoint] = {}

    def take(
        self, decision: str, shape: ShapeClass, default: Alternative, admissible: Callable[[], Iterable[Alternative]]
    ) -> Alternative:
        """The alternative for a shape class; it is remembered as asked."""
        assert decision in DECISIONS, decision
        wanted, taken = self._wanted(decision, shape), default
        if wanted is not None and wanted != default and any(wanted == dict(each) for each in admissible()):
            taken = wanted
        point = DecisionPoint(decision, dict(shape), dict(default), dict(taken), admissible)
        return self.points.setdefault(point.name, point).taken

    @property
    def departed(self) -> bool:
        """Whether anything was decided otherwise than by the rules."""
        return any(point.taken != point.default for point in self.points.values())

    def _wanted(self, decision: str, shape: ShapeClass) -> Alternative | None:
        if decision in self.forced:
            return dict(self.forced[decision])
        able = [row for row in self.rows if row["decision"] == decision and row["shape"].items() <= shape.items()]
        return dict(max(able, key=lambda row: len(row["shape"]))["take"]) if able else None
