"""Terms of elementwise functions, masks by coordinates, and exponentials that may be taken apart.

A mask compares an index expression with a number; its finite part differs from thread to thread. Beside a value whose
own coordinates move in the same way it is a condition on these coordinates:

    where(lane*4 + e - N < 0, x[m, n = lane*4 + e], -inf)      ->      x where @n < N, else -inf

2**(a - T) may be split into 2**a · 2**-T only where nothing can overflow or vanish on the way: T must be a maximum over
things that include a, attained by one of them, and finite, as must be the maxima that a is made of (`finite_extremes`).
Otherwise it stays one opaque function, and cancels with nothing. So a softmax whose maximum misses elements, or lags
behind by an iteration, does not become equal to the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.reduction_footprint import (
    FootprintPart,
    Over,
    ReducedFootprint,
    certain_parts,
    contains,
)
from argus.check.terms.atoms import UNKNOWN, Apply, Atom, Carried, Reduce, Reduction, Where, own
from argus.check.terms.conditions import one_way
from argus.check.terms.finite_extremes import Finiteness, KnownThere
from argus.check.terms.integer_terms import MOST_BITS
from argus.check.terms.normal_form import Terms
from argus.ir.maps import MAPS
from argus.layout import expr as E
from argus.layout.expr import Expr

PARTS = tuple(E.var("finite_part_of_an_index" + (f"_{n}" if n else "")) for n in range(8))
"""Finite parts of index expressions, in conditions: what differs from thread to thread, a column of offsets each."""
INDEX = PARTS[0]
COMPARE: dict[str, Callable[[Expr, int], Expr]] = {
    "lt": lambda e, c: e.lt(c),
    "le": lambda e, c: e.le(c),
    "gt": lambda e, c: e.gt(c),
    "ge": lambda e, c: e.ge(c),
    "eq": lambda e, c: e.eq(c),
    "ne": lambda e, c: e.ne(c),
}
_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}

MOST_LAG = 64.0
"""By how many powers of two a maximum may lag behind."""
FLOOR = -1.0e30
"""A maximum may start from -inf, or from a number up to this one: then a premise of the proof says that what it is
taken over is not below (`explain/assumptions`)."""


@dataclass(frozen=True, slots=True)
class TermReals:
    """Terms as real numbers, for the rows of `argus.ir.maps`. `exponential` is how 2**x may be written where the value
    stands."""

    terms: Terms
    exponential: Callable[[int], int]

    def constant(self, value: float) -> int:
        return self.terms.constant(value)

    def add(self, x: int, y: int) -> int:
        return self.terms.add(x, y)

    def negative(self, x: int) -> int:
        return self.terms.negative(x)

    def multiply(self, x: int, y: int) -> int:
        return self.terms.multiply(x, y)

    def power(self, x: int, twice: int) -> int:
        return self.terms.power(x, twice)

    def exp2(self, x: int) -> int:
        return self.exponential(x)

    def log2(self, x: int) -> int:
        return self.terms.log2(x)

    def extreme(self, fn: Reduction, args: tuple[int, ...]) -> int:
        return self.terms.extreme(fn, args)

    def apply(self, fn: str, args: tuple[int, ...]) -> int:
        return self.terms.apply(fn, args)


def unary_term(terms: Terms, fn: str, x: int, standing: Callable[[], Standing]) -> int:
    """A function of one operand; where it stands is asked only if it matters."""
    return _meaning(fn, TermReals(terms, lambda e: exponential(terms, e, standing())), x)


def binary_term(terms: Terms, fn: str, x: int, y: int) -> int:
    if fn in ("shl", "shr"):
        return _shifted(terms, fn, x, y)
    return _meaning(fn, TermReals(terms, lambda e: terms.apply("exp2", (e,))), x, y)


def whole_quotient(terms: Terms, op: str, x: int, y: int) -> int | None:
    """x // y or x % y of whole numbers, y a power of two, as the shift or mask that kernels write; else None."""
    by = terms.value(y)
    if not isinstance(by, int) or by & (by - 1) or not 1 <= by < 2**MOST_BITS or terms.whole_range(x) is None:
        return None
    return _shifted(terms, "shr", x, terms.constant(by.bit_length() - 1)) if op == "//" else terms.masked(x, by - 1)


def _shifted(terms: Terms, fn: str, x: int, amount: int) -> int:
    """x * 2**amount, or x // 2**amount: the amount is reduced (`amount`), and below MOST_BITS."""
    if UNKNOWN in (x, amount):
        return UNKNOWN
    bits = terms.value(amount)
    if bits is None:
        return terms.apply(fn, (x, amount))
    if bits != int(bits) or not 0 <= bits < MOST_BITS:
        return UNKNOWN
    if bits == 0:
        return x
    return terms.scaled(x, 2 ** int(bits)) if fn == "shl" else terms.apply(fn, (x, terms.constant(int(bits))))


def _meaning(fn: str, reals: TermReals, *args: int) -> int:
    """An instruction that is a function of its own has no row."""
    row = MAPS.get(fn)
    return reals.apply(fn, args) if row is None else row.means(reals, *args)


def reduction_of(fn: str) -> Reduction:
    """What a function does to elements at different coordinates, when it reduces them."""
    if fn == "mul":
        return "prod"
    row = MAPS.get(fn)
    return "sum" if row is None or row.reduces is None else row.reduces


def compares(fn: str, x: float, y: float, swapped: bool) -> bool:
    """x < y and its kin of numbers."""
    fn = _SWAPPED[fn] if swapped else fn
    return {"lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y, "eq": x == y, "ne": x != y}[fn]


def comparison(fn: str, e: Expr, number: float, swapped: bool) -> Expr | None:
    """index < number as a condition on INDEX; None when the number is no integer."""
    if number != int(number):
        return None
    return COMPARE[_SWAPPED[fn] if swapped else fn](e + INDEX, int(number))


def at_own_coordinates(
    condition: Expr, columns: NDArray[np.int32], offset: NDArray[np.int32], rests: dict[int, Expr]
) -> Expr | None:
    """The condition with finite parts (columns[i, n] is part n for element i) in terms of the own coordinates
    rests[a] + offset[i, a]."""
    free, mapping = condition.free(), dict[Expr, Expr | int]()
    for part, column in zip(PARTS, columns.T, strict=False):
        if part in free:
            found = _by_own_coordinates(column, offset, rests)
            if found is None:
                return None
            mapping[part] = found
    return one_way(condition.subst(mapping))


def _by_own_coordinates(
    index: NDArray[np.int32], offset: NDArray[np.int32], rests: dict[int, Expr]
) -> Expr | int | None:
    """A finite part, one number for each element, by the elements' own coordinates."""
    if bool((index == index[0]).all()):
        return int(index[0])
    axes = sorted(rests)
    single = [((a, factor),) for a in axes if (factor := _factor(index, offset[:, a]))]
    pairs = [((a, 1), (b, -1)) for a in axes for b in axes if a != b]
    for combination in (*single, *pairs):
        left = index.astype(np.int64)
        for axis, sign in combination:
            left = left - sign * offset[:, axis]
        if bool((left == left[0]).all()):
            whole = E.const(int(left[0]))
            for axis, sign in combination:
                whole = whole + sign * (own(axis) - rests[axis])
            return whole
    return None


def _factor(index: NDArray[np.int32], column: NDArray[np.int32]) -> int:
    """The whole number by which an index grows with a coordinate, going by two elements; 0 if there is none."""
    other = int(np.argmax(column != column[0]))
    steps, by = int(index[other]) - int(index[0]), int(column[other]) - int(column[0])
    return steps // by if by and steps % by == 0 else 0


@dataclass(frozen=True, slots=True)
class Standing:
    """Where elements stand: the coordinates on each axis as expressions with a bounded part, what is known there, and
    the first iteration of each loop whose carried values may occur. Of slots of loops (loop, slot), those of `never`
    are never -inf, those of `settled` not from the second iteration on."""

    coordinates: dict[int, Expr]
    holds: Callable[[Iterable[Expr], Expr], bool]
    first: dict[int, Expr]
    never: frozenset[tuple[int, int]] = frozenset()
    settled: frozenset[tuple[int, int]] = frozenset()

    @property
    def known(self) -> KnownThere:
        """What is known of these elements, in terms of their own coordinates."""
        here = {own(axis): at for axis, at in self.coordinates.items()}
        return KnownThere(lambda goal: self.holds((), goal.subst(here)), self.never, self.settled, self.first)


def exponential(terms: Terms, x: int, standing: Standing) -> int:
    """2**x, taken apart if that is harmless."""
    if x == UNKNOWN or terms.value(x) is not None:
        return terms.exp2(x)
    if not any(extreme(atom) for atom in terms.inside(x)):
        return terms.exp2(x)
    for mono, c in terms[x]:
        whole = terms.monomial(mono, c)
        tops = [terms.atoms[n] for n, twice in mono[0] if twice == 2 and extreme(terms.atoms[n])]
        atom = tops[0] if len(tops) == 1 else None
        if atom is None or c >= 0:
            continue
        factor = terms.negative(terms.quotient(whole, terms.atom(atom)))
        if not terms.is_positive(factor):
            continue
        rest = terms.quotient(terms.add(x, terms.negative(whole), formal=True), factor)
        large = _dominates(terms, atom, rest, standing) or _lags(terms, atom, rest, factor, standing)
        low = attained(terms, atom) and large and not_minus_infinity(terms, atom, standing)
        sure = Finiteness(terms, standing.known, poles=True)
        if low and sure.not_high(terms.atom(atom)) and sure.not_high(rest):
            return terms.exp2(x)
    return terms.apply("exp2", (x,))


def extreme(atom: Atom) -> bool:
    """A maximum or minimum, one of two of them, or what a loop carries, which may be one."""
    return isinstance(atom, Carried) or (isinstance(atom, Apply | Reduce) and _kind(atom) in ("max", "min", "select"))


def _choice(atom: Atom | None) -> tuple[int, int, int] | None:
    """Test, one and the other, of a choice by data."""
    if isinstance(atom, Apply) and atom.fn == "select" and len(atom.args) == 3:
        return atom.args[0], atom.args[1], atom.args[2]
    return None


def _lags(terms: Terms, top: Atom, rest: int, factor: int, standing: Standing) -> bool:
    """A maximum that is taken over only when it has grown by more than a few powers of two: 2**(factor * (rest - top))
    stays below 2**MOST_LAG, since what is kept is that close to the maximum it could have been."""
    chosen = _choice(top)
    if chosen is None:
        return False
    test, new, old = chosen
    compared, newer = terms.as_atom(test), terms.as_atom(new)
    if not (isinstance(compared, Apply) and compared.fn in ("gt", "ge")) or newer is None:
        return False
    limit = terms.value(compared.args[1])
    grown = terms.multiply(factor, terms.add(new, terms.negative(old)))
    close = compared.args[0] == grown and limit is not None and 0 <= limit <= MOST_LAG
    return close and _dominates(terms, newer, rest, standing)


def _kind(atom: Apply | Reduce) -> str:
    return atom.fn if isinstance(atom, Apply) else atom.op


def _arguments(terms: Terms, atom: Atom) -> list[int]:
    return list(atom.args) if isinstance(atom, Apply) and atom.fn == "max" else [terms.atom(atom)]


def attained(terms: Terms, top: Atom) -> bool:
    """The maximum is one of the values it is taken over, apart from floors far below: else all weights could vanish."""
    for arg in _arguments(terms, top):
        value = terms.value(arg)
        if value is None and not _extreme_term(terms, arg):
            return False
        if value is not None and value > FLOOR:
            return False
    return True


def _extreme_term(terms: Terms, term: int) -> bool:
    atom = terms.as_atom(term)
    chosen = _choice(atom)
    if chosen is not None:
        return all((a := terms.as_atom(side)) is not None and attained(terms, a) for side in chosen[1:])
    return atom is not None and extreme(atom) and not (isinstance(atom, Carried) and atom.kind != "top")


def _dominates(terms: Terms, top: Atom, rest: int, standing: Standing) -> bool:
    """top >= rest wherever the elements stand."""
    smaller = terms.as_atom(rest)
    if isinstance(smaller, Apply) and smaller.fn == "max":
        return all(_dominates(terms, top, arg, standing) for arg in smaller.args)
    for arg in _arguments(terms, top):
        if arg == rest:
            return True
        atom = terms.as_atom(arg)
        chosen = _choice(atom)
        if chosen is not None:
            sides = [terms.as_atom(side) for side in chosen[1:]]
            if all(side is not None and _dominates(terms, side, rest, standing) for side in sides):
                return True
        if not (isinstance(atom, Reduce) and atom.op == "max"):
            continue
        if isinstance(smaller, Reduce) and smaller == atom._replace(footprint=smaller.footprint):
            if contains(atom.footprint, smaller.footprint):
                return True
        elif atom.body == rest:
            coordinate = standing.coordinates.get(atom.axis)
            if coordinate is not None and _taken(coordinate, atom, standing):
                return True
    return False


def _taken(coordinate: Expr, atom: Reduce, standing: Standing) -> bool:
    """Every value of the coordinate is among those that a reduction takes."""
    if atom.domain is not None:
        return standing.holds((), atom.domain.subst({own(atom.axis): coordinate}))
    return _among(coordinate, atom.footprint, standing)


def _among(coordinate: Expr, items: ReducedFootprint, standing: Standing) -> bool:
    """Every value of the coordinate is among the items, shown for one item that is a whole interval."""
    for item in items:
        if isinstance(item, FootprintPart) and item.mask & (item.mask + 1) == 0:
            low = item.rest + item.low
            inside = E.land(coordinate.ge(low), coordinate.lt(low + item.mask.bit_length()))
            if standing.holds((), inside):
                return True
        elif isinstance(item, Over) and len(item.items) == 1 and isinstance(item.items[0], FootprintPart):
            part = item.items[0]
            low = part.rest + part.low
            width = low.subst({item.var: item.var + item.step}) - low
            if part.mask & (part.mask + 1) == 0 and width is E.const(part.mask.bit_length()):
                ends = low.subst({item.var: item.lo}), low.subst({item.var: item.hi})
                if standing.holds((), E.land(coordinate.ge(ends[0]), coordinate.lt(ends[1]))):
                    return True
    return False


def not_minus_infinity(terms: Terms, top: Atom, standing: Standing) -> bool:
    """The maximum is not -inf: one of the values it is taken over is not masked. With a settled slot among them, that
    has to be shown of the first iteration only."""
    chosen = _choice(top)
    if chosen is not None:
        sides = [terms.as_atom(side) for side in chosen[1:]]
        return all(side is not None and not_minus_infinity(terms, side, standing) for side in sides)
    facts = []
    for arg in _arguments(terms, top):
        atom = terms.as_atom(arg)
        if isinstance(atom, Carried):
            if atom.counter is None or (atom.loop, atom.slot) in standing.never:
                return True
            if atom.loop in standing.first and (atom.loop, atom.slot) in standing.settled:
                facts.append(atom.counter.eq(standing.first[atom.loop]))
    for arg in _arguments(terms, top):
        atom = terms.as_atom(arg)
        if isinstance(atom, Carried) or arg == UNKNOWN:
            continue
        if _choice(atom) is not None:
            if atom is not None and not_minus_infinity(terms, atom, standing):
                return True
            continue
        if not isinstance(atom, Reduce) or atom.op != "max":
            value = terms.value(arg)
            if value is None or value > -inf:
                return True
            continue
        body = terms.as_atom(atom.body)
        if not (isinstance(body, Where) and terms.value(body.no) == -inf):
            inside = standing.coordinates.get(atom.axis)
            if atom.domain is not None:
                return inside is not None and _taken(inside, atom, standing)
            return bool(certain_parts(atom.footprint, lambda runs: standing.holds(facts, runs)))
        others: dict[Expr, Expr | int] = {own(a): e for a, e in standing.coordinates.items() if a != atom.axis}
        for item in certain_parts(atom.footprint, lambda runs: standing.holds(facts, runs)):
            ends = (item.rest + item.low, item.rest + (item.low + item.mask.bit_length() - 1))
            for end in ends:
                if standing.holds(facts, body.condition.subst({**others, own(atom.axis): end})):
                    return True
    return False
