"""Rule `placed`: what is stored belongs where it is stored.

Proved, when the kernel says what it computes: for every store to the output, every thread, element, path and size, the
coordinates of the stored value on the axes the specification ties to the output's indices equal the coordinates it is
stored at. With `C[m, n] = sum(A[m, k] * B[n, k], k)`, an accumulator made from row 3 of A must be stored to row 3 of C.
Coordinates outside the tensors are exempt: there nothing is written.

It says nothing about functions: which tensors were combined, and how, is not compared.

`unknown` is what has no single coordinate on a tied axis; every specification with an axis that is not tied by plain
indices; and a value behind which there is a reduction over an axis that also belongs to an index of the output, as in
`y[m, n] = x[m, n] * sum(x[m, k], k)`: which elements a reduction took is not tracked, so it could hide anything.
A refutation is replayed by changing the input row the tags name and watching the wrong output element change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argus.check.domain.record_numbers import distinct
from argus.check.domain.tags import Case, Tags
from argus.check.events import ProgramPoint
from argus.check.rules.rule import Rule, RuleEvent
from argus.check.transfer.memory_accesses import Target, as_amounts, stored_outside, target
from argus.check.transfer.shifted_places import brought_to_store
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.ops import Access
from argus.layout import expr as E
from argus.layout.expr import Expr


@dataclass(frozen=True, slots=True)
class Misplaced:
    """Element (wave, lane, element) of a store: the value says `holds` on `axis`, the store says `stored`."""

    op: ops.Store | ops.Atomic
    place: ProgramPoint
    axis: int
    thread: tuple[int, int]
    element: int
    holds: Expr
    stored: Expr
    why: str = ""


class Placed(Rule):
    """Listens to stores to the output of the specification."""

    name = "placed"

    def begin(self, flow: KernelWalk) -> None:
        super().begin(flow)
        self.found: list[RuleEvent[Misplaced]] = []
        self.spec = flow.spec

    def global_store(self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags) -> None:
        if self.spec is None or access.memory is not self.spec.output:
            return
        if (op.id, place.facts) in self.flow.agreed_by_element:
            self.settle(op, "stored", "terms")
            self.found.append(RuleEvent(op, place.facts, ()))
            return
        access = as_amounts(self.flow, op, place, access, value) or access
        aim = target(self.flow, op, access)
        agreed = (op.id, place.facts) in self.flow.agreed
        doubts = self.spec.unjudged if agreed else (*self.spec.unjudged, *self.spec.computed)
        failures = [_open(op, place, why) for why in doubts]
        for case in self.flow.prune(value).cases:
            if stored_outside(self.flow, access, case):
                continue
            there = brought_to_store(self.flow.tables, self.spec, case, aim.case) if agreed else case
            failures += self._compare(op, place, there, aim, agreed)
        whys = [f.why or "a stored value may belong elsewhere" for f in failures]
        self.settle(op, "stored", self.flow.prover.reason("enumeration"), whys)
        self.found.append(RuleEvent(op, place.facts, tuple(failures)))

    def _compare(
        self, op: ops.Store | ops.Atomic, place: ProgramPoint, case: Case, aim: Target, agreed: bool
    ) -> list[Misplaced]:
        assert self.spec is not None
        tables = self.flow.tables
        own = self.spec.axes
        rests, goals = tables.rests_of(case.record), tables.rests_of(aim.case.record)
        active = np.broadcast_to((place.active & aim.active)[..., None], case.record.shape)
        if bool((goals[active][..., list(own)] < 0).any()):
            return [_open(op, place, "where it is stored is not known")]
        windows = frozenset[int]() if agreed else self.spec.hints.shifted
        for axis, position in (self.spec.placed | self.spec.partly).items():
            if axis in windows:
                continue
            there = own[position]
            wrong = (rests[..., axis] != goals[..., there]) | (case.offset[..., axis] != aim.case.offset[..., there])
            wrong &= (rests[..., axis] >= 0) & active
            if wrong.any():
                failure = self._first(op, place, case, aim, axis, there, wrong)
                if failure is not None:
                    return [failure]
        if windows:  # which elements of a window went into what is stored only `value` says
            return [_open(op, place, "which neighbors went into the stored value is not known")]
        why = "" if agreed else self._unjudged(case, active)
        return [_open(op, place, why)] if why else []

    def _unjudged(self, case: Case, active: np.ndarray) -> str:
        """Why a stored element cannot be judged: its origin is lost, or it has no single coordinate on a tied axis."""
        assert self.spec is not None
        names = self.flow.tables.axis_names
        tied = self.spec.placed | self.spec.partly
        for number in distinct(case.record[active]):
            record = self.flow.tables[number]
            if record.kind in ("lost", "unwritten"):
                return record.why or "it comes from LDS that was never written"
            if record.kind == "zero":
                if self.spec.summed:
                    continue
                return "the stored value is zero whatever the inputs are"
            missing = [a for a in tied if record.rests[a] < 0]
            if missing:
                return f"the stored value belongs to no single {names[missing[0]]}"
            hidden = [a for a in self.spec.partly if a in record.statistics]
            if hidden:
                return f"which {names[hidden[0]]} a reduction behind the stored value took is not tracked"
        return ""

    def _first(
        self,
        op: ops.Store | ops.Atomic,
        place: ProgramPoint,
        case: Case,
        aim: Target,
        axis: int,
        there: int,
        wrong: np.ndarray,
    ) -> Misplaced | None:
        """The first element that can be wrong; symbolic differences are put to the prover."""
        tables = self.flow.tables
        goal = aim.case
        decided: dict[tuple[Expr, Expr], bool] = {}
        for w, lane, e in np.argwhere(wrong):
            holds = tables.coordinate(int(case.record[w, lane, e]), axis, int(case.offset[w, lane, e, axis]))
            stored = tables.coordinate(int(goal.record[w, lane, e]), there, int(goal.offset[w, lane, e, there]))
            if holds is None or stored is None:
                return _open(op, place, "where it is stored is not known")
            question = (holds.eq(stored), aim.condition(int(w), int(lane)))
            if question not in decided:
                facts = (*place.facts, case.guard, question[1])
                decided[question] = self.flow.prover.holds(facts, question[0]) is True
            if not decided[question]:
                return Misplaced(op, place, axis, (int(w), int(lane)), int(e), holds, stored)
        return None


def _open(op: ops.Store | ops.Atomic, place: ProgramPoint, why: str) -> Misplaced:
    """Not judged, and why."""
    return Misplaced(op, place, -1, (0, 0), 0, E.const(0), E.const(0), why)
