"""Rule `reduced`: every index of a contraction is accumulated exactly once.

Proved: the accumulator starts at zero, and the coordinates its MFMAs add on the axis, over all unrolled steps and all
iterations of its loops, are every integer of the stated range exactly once. Beyond the end of the axis indices may be
added too: elements there are zero. Loops enter with their symbolic trip count; each iteration's share must be a
contiguous block, and the blocks of successive iterations adjacent.

Implied for sums of the specification, at the stores of its output; stated by `ag.check.reduced(acc, K=(0, K))`.
A refutation is a launch executed by the interpreter with ones at one index and zeros elsewhere: the result counts how
often that index was accumulated. It is tried only where the specification is nothing but a sum of a product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from argus.check.domain.record_numbers import distinct
from argus.check.domain.records import Sum
from argus.check.domain.reduction_intervals import intervals
from argus.check.domain.tags import Case, Tags
from argus.check.events import ProgramPoint
from argus.check.rules.rule import Rule, RuleEvent
from argus.check.spec.spec_terms import extent_of
from argus.check.terms.atoms import UNKNOWN, Reduce
from argus.check.terms.term_equality import Judge, incomplete, ranges
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.ops import Access, Op, Tensor
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr


@dataclass(frozen=True, slots=True)
class Gap:
    """Why a contraction was not proved complete."""

    axis: int
    why: str


class Reduced(Rule):
    """Listens to stores of the specification's output and to stated checks."""

    name = "reduced"

    def begin(self, flow: KernelWalk) -> None:
        super().begin(flow)
        self.found: list[RuleEvent[Gap]] = []
        self.spec = flow.spec
        self.judge = Judge(flow)
        self.known: dict[tuple[object, ...], str | None] = {}

    def global_store(self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags) -> None:
        specified = self.spec is not None and access.memory is self.spec.output
        if specified and (op.id, place.facts) in self.flow.agreed:
            self.settle(op, "stored", "terms")
            if self.spec is not None and (self.spec.summed or self.spec.unreduced):
                self.found.append(RuleEvent(op, place.facts, ()))
            return
        if not specified and isinstance(access.memory, Tensor) and access.memory.name in self.flow.results:
            return  # another statement of the specification speaks of it
        self._statistics(op, place, value)
        self.settle(op, "stored", "enumeration")
        if self.spec is None or not specified:
            return
        if self.spec.unreduced:
            self._note(op, place, [Gap(-1, why) for why in self.spec.unreduced])
        for axis in sorted(self.spec.summed):
            extent = extent_of(self.flow.tables, axis)
            if extent is not None:
                self._decide(op, place, value, axis, E.const(0), extent)
            else:
                name = self.flow.tables.axis_names[axis]
                self._note(op, place, [Gap(-1, f"{name} has different extents in different tensors")])

    def _note(self, op: Op, place: ProgramPoint, gaps: list[Gap]) -> None:
        """What is missing at an op; nothing, if there are no gaps."""
        what = "stated" if isinstance(op, ops.Check) else "stored"
        self.settle(op, what, self.flow.prover.reason("enumeration"), [gap.why for gap in gaps])
        self.found.append(RuleEvent(op, place.facts, tuple(gaps)))

    def _statistics(self, op: ops.Store | ops.Atomic, place: ProgramPoint, value: Tags) -> None:
        """Sums and maxima by elementwise functions and lane exchanges must be over the whole axis."""
        tables = self.flow.tables
        for case in self.flow.prune(value).cases:
            active = np.broadcast_to(place.active[..., None], case.record.shape)
            for number in distinct(case.record[active]):
                for axis in sorted(tables[int(number)].statistics):
                    gap = Gap(
                        -1, f"a reduction over {tables.axis_names[axis]} went into it that is not proved complete"
                    )
                    self._note(op, place, [gap] if self._open(place, case, int(number), axis) else [])

    def _open(self, place: ProgramPoint, case: Case, number: int, axis: int) -> bool:
        known = self._known(place, case, number)
        return incomplete(self.flow, self.judge, self.flow.tables[number], axis, known)

    def stated(self, op: ops.Check, place: ProgramPoint, values: Mapping[Value, Tags]) -> None:
        if op.rule != "reduced":
            return
        for name, bounds in op.args.items():
            axis = self.flow.tables.axes.get(name)
            if axis is None or not isinstance(bounds, tuple) or len(bounds) != 2:
                self._note(op, place, [Gap(-1, f"`{name}` does not name an axis with a range (from, to)")])
                continue
            for tags in values.values():
                self._decide(op, place, tags, axis, E.as_expr(bounds[0]), E.as_expr(bounds[1]))

    def _decide(self, op: Op, place: ProgramPoint, value: Tags, axis: int, low: Expr, high: Expr) -> None:
        gaps: list[Gap] = []
        for case in self.flow.prune(value).cases:
            facts = (*place.facts, case.guard)
            for number in distinct(case.record[place.active]):
                record = self.flow.tables[int(number)]
                sums = Sum("zero", ()) if record.kind == "zero" else record.sums
                if gaps:
                    break
                why = self._complete(facts, sums, axis, low, high)
                if why is not None and self._whole(place, case, int(number), axis, low, high):
                    why = None
                if why is not None:
                    gaps.append(Gap(axis, why))
        self._note(op, place, gaps)

    def _complete(self, facts: tuple[Expr, ...], sums: Sum | None, axis: int, low: Expr, high: Expr) -> str | None:
        key = (facts, sums, axis, low, high)
        if key not in self.known:
            self.known[key] = complete(self.flow, facts, sums, axis, low, high)
        return self.known[key]

    def _whole(self, place: ProgramPoint, case: Case, number: int, axis: int, low: Expr, high: Expr) -> bool:
        """By its term: the value is a multiple of one sum over the axis, and that runs over [low, high), masks
        included."""
        tables = self.flow.tables
        if low is not E.const(0) or extent_of(tables, axis) is not high or tables[number].term == UNKNOWN:
            return False
        term = self.judge.as_is(tables[number].term, self._known(place, case, number))
        if len(tables.terms[term]) != 1:
            return False
        factors = [tables.terms.atoms[n] for n, _ in tables.terms[term][0][0][0]]
        sums = [a for a in factors if isinstance(a, Reduce) and a.axis == axis]
        return len(sums) == 1 and sums[0].op == "sum" and sums[0].domain is not None

    def _known(self, place: ProgramPoint, case: Case, number: int) -> tuple[Expr, ...]:
        active = np.broadcast_to(place.active[..., None], case.record.shape)
        return (*place.facts, case.guard, *ranges(self.flow, case, number, active))


def complete(
    flow: KernelWalk, facts: tuple[Expr, ...], sums: Sum | None, axis: int, low: Expr, high: Expr
) -> str | None:
    """None when the sum takes every index of [low, high) exactly once; else what is missing."""
    name = flow.tables.axis_names[axis]
    if sums is None:
        return f"which {name} were accumulated is not known"
    if sums.root != "zero":
        return "the accumulator starts with a number that is not known to be zero"
    pieces = intervals(flow, facts, sums.items, axis)
    if isinstance(pieces, str):
        return pieces
    edge, left = low, list(pieces)
    while left:
        following = next((p for p in left if flow.prover.holds(facts, p[0].eq(edge)) is True), None)
        if following is None:
            return f"the accumulated {name} do not join up at {edge}"
        left.remove(following)
        edge = following[1]
    if flow.prover.holds(facts, edge.eq(high)) is True:
        return None
    padded = extent_of(flow.tables, axis)
    if padded is high and flow.prover.holds(facts, edge.ge(high)) is True:
        return None
    return f"the accumulated {name} end at {edge}, not at {high}"
