"""Rule `value`: what is stored is what the specification says, as a formula.

Proved, when the kernel says what it computes: for every store to the output, every thread, element, path and size, the
term of the stored element (`terms`) equals the specification's (`spec_terms`), where tensors stand at the element's own
coordinates; `placed` proves that these are the coordinates it is stored at. So `x + x` for `x + y`, `2 * x` for `x`, a
forgotten operand, a row sum over too few lanes or an accumulator that was not rescaled are not proved.

Equal means: as formulas over real numbers, by the rules of `terms`; of an integer output modulo 2^bits of its type
(`integer_terms`). Rounding and overflow of floats are not covered, except that an exponential is only taken apart where
it cannot overflow (`elementwise_terms`). Conversions between floating types count as exact.

A refutation is a small launch with random inputs, executed by the interpreter, whose result is far from the
specification evaluated in float64: further than a tenth of the value, since intermediate results may be narrow types
(a hundredth where nothing is narrower than 32 bits, a quarter where 8-bit types take part).
What comes from a tensor that the kernel also stores to has no term: `fresh` is never proved there, this rule is silent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.record_numbers import distinct
from argus.check.domain.tags import Case, Tags
from argus.check.events import ProgramPoint
from argus.check.rules.rule import Rule, RuleEvent
from argus.check.rules.scanned_elements import alike_scans
from argus.check.rules.stored_elements import StoredElements, alike, each
from argus.check.spec.coordinates import Unreadable
from argus.check.spec.spec_terms import SpecForm, forms_of, meaning, meaning_at
from argus.check.terms.atoms import UNKNOWN, own
from argus.check.terms.padding import Padding
from argus.check.terms.term_equality import Judge, ranges
from argus.check.transfer.computed_places import followed
from argus.check.transfer.memory_accesses import Target, as_amounts, kept_inside, stored_outside, target
from argus.check.transfer.shifted_places import brought_to_store
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Access
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError

T = TypeVar("T")
OVERWRITTEN = "what is stored comes from a tensor that the kernel also stores to"
DIFFERENT = "what is stored is another formula than the specification's"
NOT_FOLLOWED = "what is stored was computed in a way that is not followed"
UPDATES = "what several updates of one element add up to is not followed"
BEYOND = "beyond the axis whose elements say where it goes, the update may add something"
Facts = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Differs:
    """The term that is stored, and the one that the specification says."""

    stored: int
    specified: int


@dataclass(frozen=True, slots=True)
class Aim:
    """What is to be stored, as terms, each of which will do: with exponentials taken apart (the first) and not, with
    factors cancelled and not. The judge aims at them."""

    judge: Judge
    goals: tuple[int, ...]


class Valued(Rule):
    """Listens to stores to the output of the specification."""

    name = "value"

    def begin(self, flow: KernelWalk) -> None:
        super().begin(flow)
        self.found: list[RuleEvent[str | Differs]] = []
        self.spec = flow.spec
        self.aims: dict[tuple[Expr, ...], Aim] = {}
        self.unread = ""
        self.overwritten = _overwritten(flow.kernel)
        self.inside: Facts = ()
        if self.spec is None:
            return
        tied = self.spec.placed | self.spec.partly
        facts: list[Expr] = []
        for axis, position in tied.items():
            facts += [own(axis).ge(0), own(axis).lt(self.spec.shape[position])]
            same = min(a for a, p in tied.items() if p == position)
            facts += [own(axis).eq(own(same))] if same != axis else []
        self.inside = tuple(facts)
        try:
            if self.spec.unjudged:
                raise Unreadable(self.spec.unjudged[0])
            if not self.spec.loose:
                self._aim(())
        except (Unreadable, ExprError) as error:
            self.unread = str(error)

    def _aim(self, at: tuple[Expr, ...]) -> Aim:
        """The specification for what is stored at these coordinates along `loose` indices. Raises Unreadable."""
        if at not in self.aims:
            assert self.spec is not None
            judge, where = Judge(self.flow, dtype=self.spec.output.dtype), dict(zip(self.spec.loose, at, strict=True))
            terms = dict.fromkeys(self._form(form, where) for form in forms_of(self.spec))
            terms.pop(UNKNOWN, None)
            self.aims[at] = Aim(judge, tuple(judge.aim(term, self.inside) for term in terms))
        return self.aims[at]

    def _form(self, form: SpecForm, where: Mapping[str, Expr]) -> int:
        """One form of the specification; UNKNOWN if only the first has a normal form."""
        assert self.spec is not None
        try:
            return meaning(self.flow.kernel, self.spec, self.flow.tables, form, where)
        except Unreadable:
            if form == forms_of(self.spec)[0]:
                raise
            return UNKNOWN

    def global_store(self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags) -> None:
        if self.spec is None or access.memory is not self.spec.output:
            return
        why = self.unread or self.disagreement(op, place, access, value)
        if why and why != OVERWRITTEN and self.agrees_by_element(op, place, access, value):
            why = ""
            self.flow.agreed_by_element.add((op.id, place.facts))
        self.found.append(RuleEvent(op, place.facts, (why,) if why else ()))
        if why == OVERWRITTEN:
            self.flow.ledger.leave_to(op.id, self.name, "stored", "fresh", why)
        else:
            doubts = [why if isinstance(why, str) else DIFFERENT] if why else []
            self.settle(op, "stored", self.flow.prover.reason("terms"), doubts)
        if not why:
            self.flow.agreed.add((op.id, place.facts))

    def disagreement(
        self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags
    ) -> str | Differs:
        """Empty when every stored element is worth what the specification says, else why not."""
        assert self.spec is not None
        if isinstance(op, ops.Atomic) and op.fn != self.spec.update:
            return UPDATES
        if self.spec.update is not None and not isinstance(op, ops.Atomic):
            return "it is stored, but the specification adds it to what is there"
        seen = as_amounts(self.flow, op, place, access, value)
        if seen is None:
            return UPDATES
        access = seen
        aim, active, kept = self._aimed(op, place, access)
        place = replace(place, facts=(*place.facts, self._of_values(kept)))
        try:
            goal = self._aim(self._stored_at(aim, active))
        except (Unreadable, ExprError) as error:
            return str(error)
        for found in self.flow.prune(value).cases:
            if stored_outside(self.flow, access, found):
                continue
            case = brought_to_store(self.flow.tables, self.spec, found, aim.case)
            for number in ends_first(distinct(case.record[active])):
                why = self._compare(goal, place, case, int(number), active)
                if why:
                    return why
            if not self._nothing_beyond((*place.facts, kept), found, aim, active):
                return BEYOND
        return ""

    def _nothing_beyond(self, facts: Facts, value: Case, aim: Target, active: NDArray[np.bool_]) -> bool:
        """Where the index that is looked up lies beyond its axis, elements read as zero, and the update goes where that
        leads: it must not be made there, or add exactly zero."""
        assert self.spec is not None
        if self.spec.looked_up is None:
            return True
        axis, extent = self.spec.axes[self.spec.looked_up], self.spec.shape[self.spec.looked_up]
        shapes = {tensor.name: tensor.shape for tensor in self.flow.kernel.tensors}
        tables, given = self.flow.tables, (*self.flow.everywhere_facts, *facts, aim.shared, value.guard)
        beyond = Padding(tables.terms, axis, extent, shapes)
        inside = E.land(own(axis).ge(0), own(axis).lt(extent))
        for number in distinct(aim.case.record[active]):
            here = active & (aim.case.record == number)
            if self.flow.prover.holds((*given, *ranges(self.flow, aim.case, int(number), here)), inside) is True:
                continue
            if any(beyond.folded(tables[int(n)].term) != 0 for n in distinct(value.record[here])):
                return False
        return True

    def _aimed(
        self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access
    ) -> tuple[Target, NDArray[np.bool_], Expr]:
        """Where a store goes, its elements that may be written, and where, as a condition on its coordinates."""
        aim = target(self.flow, op, access)
        active, condition = place.active & aim.active, E.TRUE
        if aim.own is not None and (kept := kept_inside(self.flow, access, aim)) is not None:
            active, condition = place.active & kept[0], kept[1]
        return aim, np.broadcast_to(active[..., None], aim.case.record.shape), condition

    def agrees_by_element(self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags) -> bool:
        """Every element is worth what the specification says of the element it is stored to."""
        assert self.spec is not None
        if isinstance(op, ops.Atomic) or self.spec.update is not None:
            return False
        tables, axes = self.flow.tables, self.spec.axes
        aim, active, kept = self._aimed(op, place, access)
        if bool((tables.rests_of(aim.case.record)[active][:, list(axes)] < 0).any()):
            return False
        for case in self.flow.prune(value).cases:
            if stored_outside(self.flow, access, case):
                continue
            facts = (*self.flow.everywhere_facts, *place.facts, case.guard, kept)
            ways = (together(tables, case, aim.case, axes, active) for together in (alike_scans, alike))
            if any(self._all_agree(list(found), facts) for found in ways if found is not None):
                continue
            if not self._all_agree(list(each(tables, case, aim.case, axes, active)), facts):
                return False
        return True

    def _all_agree(self, found: Sequence[StoredElements], facts: Facts) -> bool:
        return all(self._agree(elements, facts) for elements in ends_first(found))

    def _agree(self, elements: StoredElements, facts: Facts) -> bool:
        assert self.spec is not None
        record, term = self.flow.tables[elements.number], elements.term(self.flow.tables)
        if record.kind in ("lost", "unwritten", "incoming") or record.part != (0, 1) or term == UNKNOWN:
            return False
        at, where = (
            dict(zip(self.spec.names, elements.stored, strict=True)),
            zip(elements.stored, self.spec.shape, strict=True),
        )
        goals = []
        for form in forms_of(self.spec):
            try:
                goals.append(meaning_at(self.flow.kernel, self.spec, self.flow.tables, form, at))
            except (Unreadable, ExprError):
                continue
            if self._same(term, tuple(goals[-1:])):
                return True
        known = [*elements.known, *(fact for place, extent in where for fact in (place.ge(0), place.lt(extent)))]
        stored = {own(axis): place for axis, place in zip(self.spec.axes, elements.stored, strict=True)}
        here = (*(fact.subst(dict(stored)) for fact in facts), *known)
        judge = Judge(self.flow, dtype=self.spec.output.dtype)
        aims = [judge.aim(goal, here) for goal in dict.fromkeys(goals)]
        return self._same(judge.resolved(term, here), tuple(aims))

    def _stored_at(self, aim: Target, active: NDArray[np.bool_]) -> tuple[Expr, ...]:
        """The coordinates of a store along `loose` indices, the same for all its elements. Raises Unreadable."""
        assert self.spec is not None
        found: list[Expr] = []
        for name, position in self.spec.loose.items():
            axis = self.spec.axes[position]
            pairs = {
                (int(n), int(offset))
                for n in distinct(aim.case.record[active])
                for offset in np.unique(aim.case.offset[active & (aim.case.record == n)][:, axis])
            }
            coordinates = {self.flow.tables.coordinate(n, axis, offset) for n, offset in pairs}
            where = coordinates.pop() if len(coordinates) == 1 else None
            if where is None:
                raise Unreadable(f"a store has several {name}, an index that no tensor has")
            found.append(where)
        return tuple(found)

    def _of_values(self, condition: Expr) -> Expr:
        """A condition on the coordinates of a store, as one on those of what is stored, which `placed` shows equal."""
        assert self.spec is not None
        tied = self.spec.placed | self.spec.partly
        return condition.subst({own(self.spec.axes[position]): own(axis) for axis, position in tied.items()})

    def _compare(
        self, aim: Aim, place: ProgramPoint, case: Case, number: int, active: NDArray[np.bool_]
    ) -> str | Differs:
        tables, judge = self.flow.tables, aim.judge
        record = tables[number]
        if record.kind in ("lost", "unwritten"):
            return record.why or "it comes from LDS that was never written"
        if record.term == UNKNOWN or record.part != (0, 1):
            return OVERWRITTEN if self.overwritten else NOT_FOLLOWED
        general = (*self.inside, *self.flow.everywhere_facts, *place.facts, case.guard)
        held_term = followed(
            tables, record.term, record.rests, case.offset[(case.record == number) & active],
            lambda equation: self.flow.prover.holds((*place.facts, case.guard), equation) is True,
        )  # fmt: skip
        term = judge.resolved(held_term, general)
        goals = aim.goals
        if not self._same(term, goals):
            here = (*general, *ranges(self.flow, case, number, active))
            term = judge.resolved(held_term, here)
            goals = tuple(judge.resolved(goal, here) for goal in aim.goals)
        homeless = [a for a in tables.terms.axes(term) if record.rests[a] < 0]
        if self._same(term, goals) and not homeless:
            return ""
        return Differs(term, aim.goals[0])

    def _same(self, term: int, goals: tuple[int, ...]) -> bool:
        """Equal to one of the goals; as whole numbers modulo 2^bits where the output is an integer. What maxima and
        minima are taken of is the number itself: it must not have wrapped."""
        assert self.spec is not None
        dtype, terms = self.spec.output.dtype, self.flow.tables.terms
        if dtype.kind not in ("int", "uint"):
            return term in goals
        if self.spec.update in ("max", "min"):
            return terms.wrapped(dtype.name, term) in goals
        return any(terms.congruent(term, goal, dtype.bits) for goal in goals)


def ends_first(found: Sequence[T]) -> Iterator[T]:
    """The last, the first, and so on towards the middle: mistakes of single lanes are mostly those of the last or the
    first, and all others need not be compared then."""
    low, high = 0, len(found) - 1
    while low <= high:
        yield found[high]
        if low < high:
            yield found[low]
        low, high = low + 1, high - 1


def _overwritten(kernel: Kernel) -> bool:
    """A tensor is both loaded and stored to: `fresh`, which is then not proved, speaks about what is loaded."""
    touched = [part for op in ops.walk(kernel.body) for part in op.footprints if part.space == "global"]
    loaded = {part.memory for part in touched if part.reads and not part.writes}
    return any(part.writes and part.memory in loaded for part in touched)
