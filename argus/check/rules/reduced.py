"""Rule `reduced`: every index of a contraction is accumulated exactly once.

Proved, by the value's term: it is a multiple of one sum over the axis, and the coordinates that matrix instructions,
elementwise additions and lane exchanges have added, over all unrolled steps and all iterations of its loops, are every
integer of the stated range exactly once. Beyond the end of the axis indices may be added too, where what is added is
zero. Loops enter with their symbolic trip count; each iteration's share must be a contiguous block, and the blocks of
successive iterations adjacent. What `value` has shown equal to the specification is complete.

Implied for sums of the specification, at the stores of its output; stated by `ag.check.reduced(acc, K=(0, K))`.
A refutation is a launch executed by the interpreter with ones at one index and zeros elsewhere: the result counts how
often that index was accumulated. It is tried only where the specification is nothing but a sum of a product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from argus.check.domain.record_numbers import distinct
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
            for number in distinct(case.record[place.active]):
                why = "" if gaps else self._missing(place, case, int(number), axis, low, high)
                if why:
                    gaps.append(Gap(axis, why))
        self._note(op, place, gaps)

    def _missing(self, place: ProgramPoint, case: Case, number: int, axis: int, low: Expr, high: Expr) -> str:
        """Empty when the value is a multiple of one sum over the axis, and that takes every index of [low, high) once;
        else what is missing."""
        terms, name, facts = self.flow.tables.terms, self.flow.tables.axis_names[axis], (*place.facts, case.guard)
        if self.flow.tables[number].kind == "zero":
            nothing = self.flow.prover.holds(facts, high.le(low)) is True
            return "" if nothing else f"no {name} are accumulated on a path where there may be some"
        term = self.flow.tables[number].term
        if term != UNKNOWN:
            term = self.judge.as_is(term, self._known(place, case, number))
        if term == UNKNOWN or len(terms[term]) != 1:
            return f"which {name} were accumulated is not known"
        factors = [(terms.atoms[n], twice) for n, twice in terms[term][0][0][0]]
        sums = [(a, twice) for a, twice in factors if isinstance(a, Reduce) and a.axis == axis]
        if len(sums) != 1 or sums[0][0].op != "sum" or sums[0][1] != 2:
            return f"it is not one sum over {name}"
        sum_ = sums[0][0]
        if sum_.domain is not None:
            whole = low is E.const(0) and extent_of(self.flow.tables, axis) is high
            return "" if whole else f"all {name} are accumulated, not those from {low} to {high}"
        run = self.judge.interval(sum_, facts, ordered=True)
        if run is None:
            return f"the accumulated {name} are not known to be one interval, each once"
        same = self.flow.prover.holds(facts, E.land(run[0].eq(low), run[1].eq(high))) is True
        return "" if same else f"the accumulated {name} are those from {run[0]} to {run[1]}, not from {low} to {high}"

    def _known(self, place: ProgramPoint, case: Case, number: int) -> tuple[Expr, ...]:
        active = np.broadcast_to(place.active[..., None], case.record.shape)
        return (*place.facts, case.guard, *ranges(self.flow, case, number, active))
