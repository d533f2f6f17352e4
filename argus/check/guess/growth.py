"""How what a loop carries grows: read off one iteration that started from marks, proved by `invariant.induction`.

After one iteration the term of slot n, with Carried marks for what arrived, shows how the slot grows:

    acc + red(sum, K, A·B, {kt*64 + 0..63})            acc = red(sum, K, A·B, for kt' < kt: {kt'*64 + 0..63})
    acc + x[n = j*256 + lane]                          acc = red(sum, N, x, for j' < j: {j'*256 + lane})
    max(top, red(max, Sk, s, tile j))                  the same with max; or left alone, as the value T_j of the slot
    den · 2**(top - new) + 2**-new · red(sum, ...)     den = 2**-T_j · red(sum, ..., for j' < j: ...)

The last line is the running sum of an online softmax: what arrived is scaled by u(arrived) / u(left), where u = 2**top
and `new` is what is left in the slot of `top`. Multiplied by u it is a plain sum, whatever `top` is. Such a slot stands
for itself: T_j is a function of the own coordinates and j, and what an iteration leaves there is T_(j+1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeGuard

from argus.check.domain import reduction_footprint as sets
from argus.check.domain.record_numbers import distinct
from argus.check.domain.records import REDUCED, Record, Tables
from argus.check.domain.reduction_footprint import Over
from argus.check.domain.tags import Tags
from argus.check.invariant.carried_terms import attained_term, is_floor
from argus.check.invariant.loop_shape import LoopShape
from argus.check.terms.atoms import ONE, UNKNOWN, ZERO, Apply, Atom, Carried, Reduce, Reduction
from argus.check.terms.normal_form import Terms
from argus.check.transfer import computed_places
from argus.layout.expr import Expr


@dataclass(frozen=True, slots=True)
class Growth:
    """What one iteration leaves in the slots that have one term for all elements: slot -> (term, own axes). `scales`
    are running maxima in exponents: they stand for themselves. `around` are the iterations of the loops around."""

    shape: LoopShape
    left: dict[int, tuple[int, tuple[int, ...]]]
    scales: frozenset[int]
    around: tuple[Expr, ...]

    def standing(self, n: int, kind: Literal["top", "positive", "any"] = "top") -> Carried:
        """Slot n as what it is at the head of the iteration."""
        return Carried(self.shape.op.id, n, self.shape.counter, self.left[n][1], self.around, kind)

    def is_here(self, atom: Atom) -> bool:
        """What arrived in a slot: a mark, or a slot that stands for itself."""
        if not isinstance(atom, Carried) or atom.slot not in self.left:
            return False
        return atom.counter is None or (atom.loop == self.shape.op.id and atom.counter is self.shape.counter)


def growth(tables: Tables, shape: LoopShape, start: list[Tags], out: list[Tags], around: tuple[Expr, ...]) -> Growth:
    """Looks at the marks in what one iteration left. `around` are the iterations of the loops around this one."""
    left: dict[int, tuple[int, tuple[int, ...]]] = {}
    tops: set[int] = set()
    for n, (before, after) in enumerate(zip(start[:-1], out[:-1], strict=True)):
        if len(before.cases) != 1 or len(after.cases) != 1:
            continue
        first, last = distinct(before.cases[0].record), distinct(after.cases[0].record)
        record = tables[last[0]]
        if len(first) == 1 and len(last) == 1 and _single(tables[first[0]], record):
            left[n] = record.term, tuple(a for a, rest in enumerate(record.rests) if rest >= 0)
            if _is_top(tables, tables[first[0]]) and attained_term(tables.terms, record.term):
                tops.add(n)
    scales = set()
    for tags in out[:-1]:
        for case in tags.cases:
            for number in distinct(case.record):
                for (_, exponent), _ in tables.terms[tables[number].term]:
                    scales |= slots_in(tables.terms, exponent) & tops
    return Growth(shape, left, frozenset(scales), around)


def _single(before: Record, after: Record) -> bool:
    """One function of the own coordinates, in the first iteration and later."""
    if UNKNOWN in (before.term, after.term) or after.kind not in ("value", "plain"):
        return False
    return before.kind in ("zero", "plain") or (before.kind == "value" and _axes(before) == _axes(after))


def _axes(record: Record) -> list[int]:
    return [a for a, rest in enumerate(record.rests) if rest >= 0]


def _is_top(tables: Tables, before: Record) -> bool:
    return _starts_low(tables, before) or (before.kind == "value" and attained_term(tables.terms, before.term))


def _starts_low(tables: Tables, record: Record) -> bool:
    """A number that a running maximum may start from."""
    return record.kind in ("zero", "plain") and is_floor(tables.terms, record.term)


def slots_in(terms: Terms, term: int) -> set[int]:
    """Slots whose marks a term contains."""
    return {a.slot for a in terms.inside(term) if isinstance(a, Carried) and a.counter is None}


def accumulated_term(tables: Tables, grown: Growth, n: int, after: Record, before: Record) -> int:
    """The term of slot n at the head of an iteration, or UNKNOWN."""
    terms, shape = tables.terms, grown.shape
    mark = Carried(-1, n)
    if n in grown.scales:
        return terms.atom(grown.standing(n))
    atom = terms.as_atom(after.term)
    if isinstance(atom, Apply) and atom.fn in ("max", "min") and terms.atom(mark) in atom.args:
        others = [_repeated(terms, shape, a) for a in atom.args if a != terms.atom(mark)]
        return terms.extreme("max" if atom.fn == "max" else "min", (before.term, *others))
    multiplied = _multiplied(terms, after.term, n)
    if multiplied is not None:
        return terms.multiply(before.term, _repeated(terms, shape, multiplied))
    kept = ZERO
    added = ZERO
    for mono, c in terms[after.term]:
        one = terms.monomial(mono, c)
        if n in slots_in(terms, one):
            kept = terms.add(kept, one)
        else:
            added = terms.add(added, one)
    factor = terms.quotient(kept, terms.atom(mark))
    if len(terms[kept]) != 1 or n in slots_in(terms, factor):
        return UNKNOWN
    scale = _scale(terms, grown, n, factor)
    if scale is None or (scale != ONE and before.term != ZERO):
        return UNKNOWN
    total = _repeated(terms, shape, terms.multiply(added, _at_end(terms, grown, scale)))
    here = terms.rewritten(scale, lambda a: terms.atom(grown.standing(a.slot)) if _is_mark(a) else None, {})
    return terms.add(before.term, terms.quotient(total, here))


def gathered(tables: Tables, n: int, one: Record, axis: int, offset: int) -> Record | None:
    """What an element that walks along an axis adds to slot n, as a reduction over the coordinate it is at."""
    terms, mark = tables.terms, tables.terms.atom(Carried(-1, n))
    items = sets.one(tables.rests[one.rests[axis]], offset)
    atom = terms.as_atom(one.term)
    if isinstance(atom, Apply) and atom.fn in ("max", "min") and mark in atom.args:
        op: Reduction = "max" if atom.fn == "max" else "min"
        others = terms.extreme(op, [a for a in atom.args if a != mark])
        term = terms.extreme(op, (mark, terms.reduce(op, axis, others, items)))
    elif (factor := _multiplied(terms, one.term, n, reduced=False)) is not None:
        term = terms.multiply(mark, terms.reduce("prod", axis, factor, items))
    else:
        added = terms.add(one.term, terms.negative(mark), formal=True)
        if n in slots_in(terms, added):
            return None
        term = terms.add(mark, computed_places.reduced(tables, "sum", axis, added, items))
    rests = tuple(REDUCED if a == axis else rest for a, rest in enumerate(one.rests))
    return replace(one, rests=rests, statistics=one.statistics | {axis}, term=term)


def _multiplied(terms: Terms, term: int, n: int, reduced: bool = True) -> int | None:
    """What slot n is multiplied by: a product over coordinates of this iteration (`reduced`), or any factor; None where
    it is not just multiplied."""
    if len(terms[term]) != 1:
        return None
    (factors, exponent), c = terms[term][0]
    marks = [f for f in factors if terms.atoms[f[0]] == Carried(-1, n)]
    others = [f for f in factors if f not in marks]
    if len(marks) != 1 or marks[0][1] != 2 or exponent != ZERO or c != 1 or not others:
        return None
    products = all(isinstance(a := terms.atoms[f[0]], Reduce) and a.op == "prod" for f in others)
    if reduced and (len(others) != 1 or not products):
        return None
    made = terms.monomial((tuple(others), ZERO), 1)
    return None if slots_in(terms, made) else made


def _scale(terms: Terms, grown: Growth, n: int, factor: int) -> int | None:
    """u, when the factor is u(arrived) / u(left); None when it is not."""
    if factor == UNKNOWN or len(terms[factor]) != 1:
        return None
    (factors, exponent), c = terms[factor][0]
    if c != 1 or not all(grown.is_here(terms.atoms[number]) for number, _ in factors):
        return None
    inside = ZERO
    for mono, k in terms[exponent]:
        carried = [(terms.atoms[number], twice) for number, twice in mono[0] if grown.is_here(terms.atoms[number])]
        if len(carried) == 1 and carried[0][1] == 2 and mono[1] == ZERO:
            inside = terms.add(inside, terms.monomial(mono, k))
    scale = terms.multiply(terms.monomial((factors, ZERO), 1.0), terms.exp2(inside))
    if any(isinstance(a, Carried) and a.slot == n for a in terms.inside(scale)):
        return None
    return scale if terms.multiply(factor, _at_end(terms, grown, scale), formal=True) == scale else None


def _is_mark(atom: Atom) -> TypeGuard[Carried]:
    return isinstance(atom, Carried) and atom.counter is None


def _at_end(terms: Terms, grown: Growth, scale: int) -> int:
    """The scale with what the iteration leaves in place of what arrived."""

    def change(atom: Atom) -> int | None:
        return grown.left[atom.slot][0] if isinstance(atom, Carried) and grown.is_here(atom) else None

    return terms.rewritten(scale, change, {})


def _repeated(terms: Terms, shape: LoopShape, term: int) -> int:
    """What one iteration adds, as what all iterations so far have added."""
    if term == UNKNOWN or slots_in(terms, term):
        return UNKNOWN
    total = ZERO
    for mono, c in terms[term]:
        open_sums = []
        for number, twice in mono[0]:
            atom = terms.atoms[number]
            if isinstance(atom, Reduce) and twice == 2 and shape.counter in sets.variables(atom.footprint):
                open_sums.append(atom)
        if len(open_sums) != 1 or shape.counter in terms.free(open_sums[0].body):
            return UNKNOWN
        atom = open_sums[0]
        rest = terms.quotient(terms.monomial(mono, c), terms.atom(atom))
        if shape.counter in terms.free(rest):
            return UNKNOWN
        items = (Over(shape.counter, shape.first, shape.counter, shape.stride, atom.footprint),)
        total = terms.add(total, terms.multiply(rest, terms.atom(atom._replace(footprint=items))))
    return total


def at_first(tables: Tables, shape: LoopShape, term: int) -> int:
    """The term at the head of the first iteration."""
    return tables.terms.substituted(term, {shape.counter: shape.first})


def free_choice(tables: Tables, shape: LoopShape, later: Record, first: Record) -> bool:
    """The later record's term holds in the first iteration too, where the slot holds the number `first`."""
    atom = tables.terms.as_atom(later.term)
    if isinstance(atom, Carried):
        return atom.loop == shape.op.id and atom.counter is shape.counter and _starts_low(tables, first)
    return later.term != UNKNOWN and at_first(tables, shape, later.term) == first.term
