"""Does the term of a stored element say the same as the specification's?

The kernel's term is brought into the form of the specification's, bottom up, under what is known where it is stored:

    reduction    what it has taken becomes the whole axis, if it is: every coordinate of the axis that the masks inside
                 let through is taken once (sums; at least once for maxima), and what is taken beyond the axis is
                 exactly zero (`padding`; under a maximum no element of the axis is negative) or masked
    mask         dropped where it always holds, made zero where it never does, written like an equivalent one of the
                 specification, or as being inside the axis
    part         a reduction over an interval becomes one over the whole axis, masked by being inside the interval
    steps        what loops took in steps is what a reduction of the specification takes in steps, if it is the same
    exponential  2**(x - T) is taken apart where T is a maximum over all x of an axis
    number       a coefficient that rounds to one of the specification's is that one (`close_numbers`); in what jumps,
                 only if both round to the same

Then equal terms are the same number. Stored elements are known to lie inside the output; elsewhere nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal

import numpy as np

from argus.check.domain.records import Record
from argus.check.domain.reduction_footprint import FootprintPart, ReducedFootprint, fresh_bound, substituted
from argus.check.domain.reduction_intervals import intervals, joined
from argus.check.domain.tags import Case
from argus.check.spec.spec_terms import domain, extent_of
from argus.check.terms.atoms import NEUTRAL, ONE, UNKNOWN, ZERO, Apply, Atom, Reduce, Where, axes_in, own
from argus.check.terms.close_numbers import close_enough, same_number
from argus.check.terms.conditions import one_way
from argus.check.terms.definedness import NOTHING_TIMES, STEADY
from argus.check.terms.elementwise_terms import Standing, exponential
from argus.check.terms.finite_extremes import Finiteness, KnownThere, conjuncts, ends
from argus.check.terms.normal_form import Terms
from argus.check.terms.padding import Padding
from argus.check.terms.placed_terms import in_steps, progression
from argus.check.terms.places import first_place, place_on, search
from argus.check.walk import KernelWalk
from argus.ir.types import DType
from argus.layout import expr as E
from argus.layout.expr import Expr

Facts = tuple[Expr, ...]
MAX_PASSES = 3
Stage = Literal["as is", "masked", "clipped"]
STAGES: tuple[Stage, ...] = ("as is", "masked", "clipped")
"""Sums are resolved as they are; then those that are not whole are masked by conditions of the specification, which may
join parts; then what is still a part becomes the whole with a mask."""


@dataclass(slots=True)
class Judge:
    """Resolves terms under facts, with the conditions and numbers of a specification to aim at."""

    flow: KernelWalk
    conditions: list[Expr] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    dtype: DType | None = None
    """The type of the output that the specification speaks of."""
    repeated: list[Reduce] = field(default_factory=list)
    """Reductions of the specification over coordinates in steps."""
    _known: dict[tuple[int, Facts, Stage, bool], int] = field(default_factory=dict)
    _jumping: bool = False
    """What is looked at goes into something that jumps."""

    @property
    def terms(self) -> Terms:
        return self.flow.tables.terms

    def aim(self, term: int, facts: Facts) -> int:
        """Resolve the specification's term and remember how it is written."""
        sums = [a for a in self.terms.inside(term) if isinstance(a, Reduce) and a.domain is None]
        self.repeated = [atom for atom in sums if progression(atom.footprint) is not None]
        goal = self.resolved(term, facts)
        atoms = list(self.terms.inside(goal))
        self.conditions = list(dict.fromkeys(a.condition for a in atoms if isinstance(a, Where)))
        self.numbers = sorted(set(self.terms.coefficients(goal)))
        return goal

    def as_is(self, term: int, facts: Facts) -> int:
        """The term with sums that are whole by themselves: a part that would be the whole with a mask stays a part."""
        return self._passes(term, facts, "as is")

    def resolved(self, term: int, facts: Facts) -> int:
        return reduce(lambda made, stage: self._passes(made, facts, stage), STAGES, term)

    def _passes(self, term: int, facts: Facts, stage: Stage) -> int:
        key = term, facts, stage, self._jumping
        if key not in self._known:
            made = before = term
            for _ in range(MAX_PASSES):
                made = self.terms.rewritten(before, lambda a: self._changed(a, facts, stage), {}, self._snapped)
                if made == before:
                    break
                before = made
            self._known[key] = made
        return self._known[key]

    def _snapped(self, c: float) -> float:
        if self.dtype is None or c in self.numbers:
            return c
        same = self._same_number if self._jumping else close_enough
        return next((n for n in self.numbers if same(c, n, self.dtype)), c)

    def _same_number(self, c: float, n: float, dtype: DType) -> bool:
        """In what jumps: f64 decides where any tensor has it."""
        wide = [t.dtype for t in self.flow.kernel.tensors if t.dtype.name == "f64"]
        return same_number(c, n, wide[0] if wide else dtype)

    def _changed(self, atom: Atom, facts: Facts, stage: Stage) -> int | None:
        if isinstance(atom, Apply) and atom.fn not in STEADY and not self._jumping:
            self._jumping = True
            try:
                return self._passes(self.terms.atom(atom), facts, stage)
            finally:
                self._jumping = False
        if isinstance(atom, Where):
            return self._mask(atom, facts, stage)
        if isinstance(atom, Reduce):
            outside = tuple(f for f in facts if own(atom.axis) not in f.free())
            place = self._place(atom, outside, stage)
            if place is not None:
                return place
            whole = atom.domain if atom.domain is not None else self._whole(atom, outside)
            body = atom.body
            if whole is None and stage == "clipped":
                whole, body = self._clipped(atom, outside)
            specified = self._specified(atom, outside) if whole is None else None
            if specified is not None:
                return self.terms.reduce(atom.op, atom.axis, self._passes(body, outside, stage), specified)
            if whole is None:
                body = self._passes(self._edged(atom, outside, stage), outside, stage)
                body = body if stage == "as is" else self._lean(body, outside)
                return self.terms.reduce(atom.op, atom.axis, body, atom.footprint)
            inside = (*outside, *whole.args)
            body = self._passes(body, inside, stage)
            body = body if stage == "as is" else self._lean(body, inside)
            something = atom.op == "sum" and self._leave_something(atom.axis, body, whole, outside)
            return self.terms.reduce(atom.op, atom.axis, body, (), whole, something)
        if isinstance(atom, Apply) and atom.fn == "select":
            return self._chosen(atom, facts, stage)
        if isinstance(atom, Apply) and atom.fn == "min":
            return self._least([self._passes(arg, facts, stage) for arg in atom.args], facts)
        if isinstance(atom, Apply) and atom.fn == NOTHING_TIMES:
            inner = self._passes(atom.args[0], facts, stage)
            flow = self.flow
            known = KnownThere(lambda goal: self._holds(facts, goal), flow.never, flow.settled, flow.first)
            sure = Finiteness(self.terms, known).finite(inner)
            return ZERO if sure else self.terms.apply(NOTHING_TIMES, (inner,))
        if isinstance(atom, Apply) and atom.fn == "exp2":
            return self._exponential(self._passes(atom.args[0], facts, stage), facts)
        return None

    def _place(self, atom: Reduce, facts: Facts, stage: Stage) -> int | None:
        """The first place of an extreme over the whole axis, if that is what is looked for (`places`)."""
        found = search(self.terms, atom) if atom.domain is None else None
        extent = None if found is None else extent_of(self.flow.tables, atom.axis)
        looked_at = None if extent is None else self.interval(atom, facts, ordered=True)
        if found is None or extent is None or looked_at is None:
            return None
        extreme = self._passes(self.terms.atom(found.extreme), facts, stage)
        whole, here = domain(atom.axis, extent), own(atom.axis)
        one = self.terms.as_atom(extreme)
        if not isinstance(one, Reduce) or one.domain is not whole:
            return None
        if self._passes(found.compared, (*facts, *whole.args), stage) != one.body:
            return None
        taken = (here.ge(looked_at[0]), here.lt(looked_at[1]))
        if not self._holds((*facts, *whole.args), E.land(*taken)) or not self._holds(facts, extent.ge(1)):
            return None
        if not self._holds((*facts, *taken), whole):
            mask = self.terms.as_atom(found.compared)
            if not isinstance(mask, Where) or self.terms.value(mask.no) != NEUTRAL[one.op]:
                return None
            if not self._holds((*facts, *taken, mask.condition), whole):
                return None
        if not self._holds(facts, E.const(found.other).ge(extent - 1)):
            return None
        made = first_place(self.terms, extreme)
        return None if made == UNKNOWN else made

    def _least(self, args: list[int], facts: Facts) -> int:
        """The least of terms; a number that no place on an axis exceeds is not less than such a place."""
        for arg in args:
            axis = place_on(self.terms, arg)
            extent = None if axis is None else extent_of(self.flow.tables, axis)
            if extent is not None:
                values = {a: self.terms.value(a) for a in args}
                above = {a for a, v in values.items() if isinstance(v, int) and self._holds(facts, (extent - 1).le(v))}
                args = [a for a in args if a not in above]
        return self.terms.extreme("min", args)

    def _exponential(self, exponent: int, facts: Facts) -> int:
        """2**exponent, taken apart where the maximum in it is one over an axis that the element lies on."""
        here = {axis: own(axis) for axis in self.terms.axes(exponent)}
        return exponential(
            self.terms, exponent, Standing(here, lambda more, goal: self._holds((*facts, *more), goal), {})
        )

    def _chosen(self, atom: Apply, facts: Facts, stage: Stage) -> int | None:
        """x > 0 for a sum x of positive numbers under a mask: it says whether the mask lets any through."""
        test, yes, no = atom.args
        compared = self.terms.as_atom(test)
        if not (isinstance(compared, Apply) and compared.fn == "gt" and compared.args[1] == ZERO):
            return None
        condition = self._some(self._passes(compared.args[0], facts, stage), facts)
        if condition is None:
            return None
        return self.terms.where(condition, self._passes(yes, facts, stage), self._passes(no, facts, stage))

    def _some(self, term: int, facts: Facts) -> Expr | None:
        """When a sum of positive numbers has any: always, or by a condition of the specification; None: not known."""
        terms = self.terms
        if len(terms[term]) != 1 or terms[term][0][1] <= 0:
            return None
        sums = [n for n, twice in terms[term][0][0][0] if twice == 2 and isinstance(terms.atoms[n], Reduce)]
        others = tuple(f for f in terms[term][0][0][0] if f[0] not in sums)
        atom = terms.atoms[sums[0]] if len(sums) == 1 else None
        if not (isinstance(atom, Reduce) and atom.op == "sum" and atom.domain is not None):
            return None
        body = terms[atom.body]
        masks = [a for n, _ in body[0][0][0] if isinstance(a := terms.atoms[n], Where) and (a.yes, a.no) == (ONE, ZERO)]
        rest = tuple(f for f in body[0][0][0] if terms.atoms[f[0]] not in masks)
        positive = all(terms.is_positive(terms.monomial((factors, ZERO), 1.0)) for factors in (others, rest))
        if len(body) != 1 or body[0][1] <= 0 or not positive:
            return None
        inside = E.land(atom.domain, *(mask.condition for mask in masks))
        here, last = own(atom.axis), atom.domain.args[1].args[1] - 1
        for wanted in (E.TRUE, *(c for c in self.conditions if here not in c.free())):
            given = facts if wanted is E.TRUE else (*facts, wanted)
            places = (E.const(0), last, *(end for mask in masks for end in ends(mask.condition, here)))
            if not any(self._holds(given, inside.subst({here: k})) for k in places):
                continue
            if wanted is E.TRUE or self._holds((*facts, E.lnot(wanted), *atom.domain.args), E.lnot(inside)):
                return wanted
        return None

    def _leave_something(self, axis: int, body: int, whole: Expr, facts: Facts) -> bool:
        """Masks of a summed body let a coordinate of the axis through, of every product that is waiting for that."""
        here = own(axis)
        for masks in self.terms.kept_inside(axis, body, whole):
            places = (E.const(0), *(end for mask in masks for part in conjuncts(mask) for end in ends(part, here)))
            inside = E.land(whole, *masks)
            if not any(self._holds(facts, inside.subst({here: k})) for k in places):
                return False
        return True

    def _mask(self, atom: Where, facts: Facts, stage: Stage) -> int:
        if self._holds(facts, atom.condition):
            return self._passes(atom.yes, facts, stage)
        if self._holds(facts, E.lnot(atom.condition)):
            return self._passes(atom.no, facts, stage)
        condition = atom.condition
        for wanted in (*self.conditions, *self._edges(condition)):
            if self._holds((*facts, condition), wanted) and self._holds((*facts, wanted), condition):
                condition = wanted
                break
        yes, no = self._passes(atom.yes, facts, stage), self._passes(atom.no, facts, stage)
        return self.terms.where(condition, yes, no)

    def _edged(self, atom: Reduce, facts: Facts, stage: Stage) -> int:
        """The body of a part of a sum, masked where that makes no difference, by being inside the axis and by the
        conditions of the specification: another part may need the mask."""
        extent = extent_of(self.flow.tables, atom.axis)
        if atom.op != "sum" or extent is None:
            return atom.body
        here, body = own(atom.axis), atom.body
        masks = [one_way(here.lt(extent))]
        masks += [c for c in self.conditions if stage != "as is" and here in c.free()]
        for mask in dict.fromkeys(masks):
            if self._throughout(atom.footprint, facts, here, mask):
                body = self.terms.selected(mask, body)
        return body

    def _throughout(self, items: ReducedFootprint, facts: Facts, here: Expr, condition: Expr) -> bool:
        """The condition holds at every coordinate taken."""
        for item in items:
            if isinstance(item, FootprintPart):
                low = item.rest + item.low
                known = (*facts, here.ge(low), here.lt(low + item.mask.bit_length()))
                if not self._holds(known, condition):
                    return False
            else:
                var = fresh_bound(item.var, (*self.flow.prover.base, *facts, item.lo, item.hi, condition))
                known = (*facts, var.ge(item.lo), var.lt(item.hi))
                if not self._throughout(substituted(item.items, {item.var: var}), known, here, condition):
                    return False
        return True

    def _edges(self, condition: Expr) -> list[Expr]:
        """Being inside each axis that a condition speaks of."""
        extents = {axis: extent_of(self.flow.tables, axis) for axis in sorted(axes_in(condition))}
        return [one_way(own(axis).lt(extent)) for axis, extent in extents.items() if extent is not None]

    def _holds(self, facts: Facts, goal: Expr) -> bool:
        return self.flow.prover.holds(facts, goal) is True

    def _whole(self, atom: Reduce, facts: Facts) -> Expr | None:
        """The whole axis, if that is what the reduction has taken."""
        extent = extent_of(self.flow.tables, atom.axis)
        found = None if extent is None else self.interval(atom, facts)
        if extent is None or found is None:
            return None
        here = own(atom.axis)
        whole = domain(atom.axis, extent)
        footprint = (here.ge(found[0]), here.lt(found[1]))
        masks = self._masks(atom)
        if not self._holds((*facts, *whole.args, *masks), E.land(*footprint)):
            return None
        harmless = self._vanishes(atom, extent) or self._outdone(atom, extent, facts)
        return whole if harmless or self._holds((*facts, *footprint, *masks), whole) else None

    def _specified(self, atom: Reduce, facts: Facts) -> ReducedFootprint | None:
        """The coordinates in steps that a reduction of the specification takes, if these are the same, each once."""
        for wanted in self.repeated:
            found = progression(wanted.footprint)
            if wanted.axis != atom.axis or found is None:
                continue
            start, stride, count = found
            steps = in_steps(atom.footprint, start, stride)
            run = None if steps is None else self.interval(atom._replace(footprint=steps), facts, ordered=True)
            if run is not None and self._holds(facts, E.land(run[0].eq(0), run[1].eq(count))):
                return wanted.footprint
        return None

    def _clipped(self, atom: Reduce, facts: Facts) -> tuple[Expr | None, int]:
        """A reduction over an interval [a, b) as one over the whole axis, masked by being inside: the axis and the
        body."""
        extent = extent_of(self.flow.tables, atom.axis)
        found = self.interval(atom, facts, ordered=True) if extent is not None else None
        if extent is None or found is None:
            return None, atom.body
        here, whole, masks = own(atom.axis), domain(atom.axis, extent), self._masks(atom)
        footprint = (here.ge(found[0]), here.lt(found[1]))
        if not self._vanishes(atom, extent) and not self._holds((*facts, *footprint, *masks), whole):
            return None, atom.body
        edges = [one_way(edge) for edge in footprint if not self._holds((*facts, *whole.args, *masks), edge)]
        return whole, reduce(lambda body, edge: self._masked(atom, edge, body), edges, atom.body)

    def _masked(self, atom: Reduce, edge: Expr, body: int) -> int:
        """The body where the edge holds, else what changes nothing."""
        if atom.op == "sum":
            return self.terms.selected(edge, body)
        neutral = self.terms.constant(NEUTRAL[atom.op])
        inner = self.terms.as_atom(body)
        if isinstance(inner, Where) and inner.no == neutral:
            return self.terms.where(E.land(edge, inner.condition), inner.yes, neutral)
        return self.terms.where(edge, body, neutral)

    def _lean(self, body: int, facts: Facts) -> int:
        """Every product without masks that its other masks imply."""
        total = ZERO
        for (factors, exponent), c in self.terms[body] if body else ():
            kept = list(factors)
            for factor in factors:
                mask = self._mask_of(factor)
                others = [m for f in kept if f is not factor and (m := self._mask_of(f)) is not None]
                if mask is not None and others and self._holds((*facts, *others), mask):
                    kept.remove(factor)
            total = self.terms.add(total, self.terms.monomial((tuple(kept), exponent), c))
        return total if body else UNKNOWN

    def _mask_of(self, factor: tuple[int, int]) -> Expr | None:
        atom = self.terms.atoms[factor[0]]
        return atom.condition if isinstance(atom, Where) and (atom.yes, atom.no) == (ONE, ZERO) else None

    def interval(self, atom: Reduce, facts: Facts, ordered: bool = False) -> tuple[Expr, Expr] | None:
        """[from, to) that a reduction has taken, each coordinate once; `ordered`: no part of it runs backwards."""
        pieces = intervals(self.flow, facts, atom.footprint, atom.axis)
        if isinstance(pieces, str):
            return None
        if ordered and not all(self._holds(facts, low.le(high)) for low, high in pieces):
            return None
        runs = joined(self.flow, facts, pieces)
        return runs[0] if len(runs) == 1 else None

    def _masks(self, atom: Reduce) -> Facts:
        """Conditions outside of which the body counts for nothing."""
        if atom.op != "sum":
            inner = self.terms.as_atom(atom.body)
            masked = isinstance(inner, Where) and self.terms.value(inner.no) == NEUTRAL[atom.op]
            return (inner.condition,) if masked and isinstance(inner, Where) else ()
        return tuple(
            a.condition for a in self._factors(atom) if isinstance(a, Where) and (a.yes, a.no) == (ONE, ZERO)
        )  # fmt: skip

    def _factors(self, atom: Reduce) -> Iterable[Atom]:
        poly = self.terms[atom.body]
        return [self.terms.atoms[n] for n, twice in poly[0][0][0] if twice > 0] if len(poly) == 1 else []

    def _vanishes(self, atom: Reduce, extent: Expr) -> bool:
        """Beyond the axis the body is exactly zero, because elements of tensors are."""
        return atom.op == "sum" and self._zero_beyond(atom, extent)

    def _outdone(self, atom: Reduce, extent: Expr, facts: Facts) -> bool:
        """Beyond the axis the body of a maximum is exactly zero, and on the axis there is one that is no less: none of
        them is negative, and there is one. A minimum alike."""
        if atom.op not in ("max", "min") or not self._holds(facts, extent.ge(1)):
            return False
        body = atom.body if atom.op == "max" else self.terms.negative(atom.body)
        return self.terms.not_negative(body) and self._zero_beyond(atom, extent)

    def _zero_beyond(self, atom: Reduce, extent: Expr) -> bool:
        shapes = {tensor.name: tensor.shape for tensor in self.flow.kernel.tensors}
        return Padding(self.terms, atom.axis, extent, shapes).folded(atom.body) == 0


def ranges(flow: KernelWalk, case: Case, number: int, active: np.ndarray) -> Facts:
    """Where the elements with this record stand on every axis."""
    here = (case.record == number) & active
    facts: list[Expr] = []
    for axis, rest in enumerate(flow.tables[number].rests):
        if rest >= 0:
            offsets = case.offset[..., axis][here]
            symbolic = flow.tables.rests[rest]
            facts += [own(axis).ge(symbolic + int(offsets.min())), own(axis).le(symbolic + int(offsets.max()))]
    return tuple(facts)


def incomplete(flow: KernelWalk, judge: Judge, record: Record, axis: int, facts: Facts) -> bool:
    """A reduction over the axis went into the element that is not known to be over all of it."""
    if record.term == UNKNOWN:
        return True
    resolved = judge.as_is(record.term, facts)
    return any(
        isinstance(a, Reduce) and a.axis == axis and a.domain is None for a in flow.tables.terms.inside(resolved)
    )
