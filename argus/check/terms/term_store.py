"""The store of terms: interned, so that equal terms are one number, and what each of them depends on.

`normal_form.py` adds the algebra that brings terms into their normal form.

Coefficients that are whole numbers are Python's integers, and exact, so that 3000001 is not 3000000; others are floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from argus.check.domain import reduction_footprint as sets
from argus.check.terms.atoms import (
    UNIT,
    UNKNOWN,
    ZERO,
    Apply,
    Atom,
    Carried,
    Coordinate,
    Leaf,
    Mono,
    Number,
    Power,
    Reduce,
    Where,
    axes_in,
    parts_of,
)
from argus.layout.expr import Expr

EXACT = 2**53
"""Up to here floats have all whole numbers."""
MAX_SIZE = 200_000
"""Parts of the largest term that is followed, repetitions counted."""
LARGEST = 2**256
"""Whole coefficients beyond it are not followed."""


def canonical(c: float) -> float:
    """A coefficient as it is kept: a float that is a whole number becomes one."""
    return int(c) if isinstance(c, float) and c.is_integer() and abs(c) < EXACT else c


class Interned:
    """The terms of one kernel: equal ones are the same number."""

    def __init__(self) -> None:
        self._polys: list[tuple[tuple[Mono, float], ...]] = []
        self._sizes: list[int] = []
        self._numbers: dict[tuple[tuple[Mono, float], ...], int] = {}
        self.atoms: list[Atom] = []
        self.positive: frozenset[str] = frozenset()
        """Scalar arguments that are known to be greater than zero."""
        self._atom_numbers: dict[Atom, int] = {}
        self.multiplies = False
        """There are reductions by products."""
        self._axes: dict[int, frozenset[int]] = {}
        self._free: dict[int, frozenset[Expr]] = {}
        self._sums: dict[tuple[int, int, bool, bool], int] = {}
        self._products: dict[tuple[int, int, bool], int] = {}
        self._mono_sizes: dict[Mono, int] = {}
        self._polys.append((((((-1, 1),), ZERO), 1),))
        self._sizes.append(1)
        for poly in ((), ((UNIT, 1),)):
            self._intern(poly)

    def __getitem__(self, term: int) -> tuple[tuple[Mono, float], ...]:
        return self._polys[term]

    def _intern(self, poly: tuple[tuple[Mono, float], ...]) -> int:
        """The number of a term; UNKNOWN for one that is too large."""
        number = self._numbers.get(poly)
        if number is None:
            size = 1 + sum(self._size_of(mono) for mono, _ in poly)
            if size > MAX_SIZE:
                return UNKNOWN
            number = self._numbers[poly] = len(self._polys)
            self._polys.append(poly)
            self._sizes.append(size)
        return number

    def _size_of(self, mono: Mono) -> int:
        size = self._mono_sizes.get(mono)
        if size is None:
            inner = [t for n, _ in mono[0] for t in parts_of(self.atoms[n])]
            size = 1 + len(mono[0]) + sum(self._sizes[t] for t in (*inner, mono[1]) if t != ZERO)
            self._mono_sizes[mono] = size
        return size

    def made(self, parts: Mapping[Mono, float]) -> int:
        """The sum of these monomials, as it is written."""
        kept: list[tuple[Mono, float]] = []
        for mono, c in parts.items():
            if isinstance(c, int):
                if abs(c) >= LARGEST:
                    return UNKNOWN
            else:
                c = canonical(c)
            if c != 0:
                kept.append((mono, c))
        return self._intern(tuple(sorted(kept)))

    def number_of(self, atom: Atom) -> int:
        """The number of an atom, in monomials."""
        return self._power(atom, 2)[0][0][0]

    def atom(self, atom: Atom) -> int:
        """The term that is this atom."""
        return self._intern(((self._power(atom, 2), 1),))

    def _power(self, atom: Atom, twice: int) -> Mono:
        number = self._atom_numbers.get(atom)
        if number is None:
            number = self._atom_numbers[atom] = len(self.atoms)
            self.atoms.append(atom)
        return (((number, twice),), ZERO)

    def monomial(self, mono: Mono, c: float) -> int:
        return self.made({mono: c})

    def as_atom(self, term: int) -> Atom | None:
        """The atom, if the term is nothing else."""
        poly = self._polys[term]
        if term and len(poly) == 1 and poly[0][1] == 1 and poly[0][0][1] == ZERO and len(poly[0][0][0]) == 1:
            (number, twice) = poly[0][0][0][0]
            return self.atoms[number] if twice == 2 else None
        return None

    def constant(self, value: float) -> int:
        return self.made({UNIT: value}) if value else ZERO

    def value(self, term: int) -> float | None:
        """The number, if the term is one."""
        poly = self._polys[term]
        if term == ZERO:
            return 0.0
        return poly[0][1] if term and len(poly) == 1 and poly[0][0] == UNIT else None

    # -- what a term depends on ------------------------------------------------------------------------------------

    def coefficients(self, term: int) -> Iterable[float]:
        """All numbers in a term."""
        pending, seen = [term], {term}
        while pending:
            for (factors, exponent), c in self._polys[pending.pop()]:
                yield c
                inner = [exponent, *(t for n, _ in factors for t in parts_of(self.atoms[n]))]
                pending += [t for t in inner if t not in seen and t != UNKNOWN]
                seen.update(inner)

    def axes(self, term: int) -> frozenset[int]:
        """Axes on which the term depends on the own coordinate."""
        if term not in self._axes:
            found: frozenset[int] = frozenset()
            for (factors, exponent), _ in self._polys[term] if term else ():
                found |= self.axes(exponent) if exponent != ZERO else frozenset()
                for number, _ in factors:
                    found |= self.atom_axes(self.atoms[number])
            self._axes[term] = found
        return self._axes[term]

    def atom_axes(self, atom: Atom) -> frozenset[int]:
        match atom:
            case Leaf(axes=axes) | Carried(axes=axes):
                return frozenset(axes)
            case Coordinate(axis=axis):
                return frozenset({axis})
            case Apply(args=args):
                return frozenset[int]().union(*(self.axes(a) for a in args))
            case Power(base=base):
                return self.axes(base)
            case Where(condition=condition, yes=yes, no=no):
                return self.axes(yes) | self.axes(no) | axes_in(condition)
            case Reduce(axis=axis, body=body):
                return self.axes(body) - {axis}
            case _:
                return frozenset()

    def free(self, term: int) -> frozenset[Expr]:
        """Variables of index expressions anywhere in the term."""
        if term not in self._free:
            found: set[Expr] = set()
            for atom in self.inside(term):
                match atom:
                    case Number(name=Expr() as e):
                        found |= e.free()
                    case Where(condition=condition):
                        found |= condition.free()
                    case Reduce(footprint=footprint):
                        found |= sets.variables(footprint)
                    case Carried(counter=Expr() as counter, around=around):
                        found |= counter.free().union(*(e.free() for e in around))
                    case Leaf() | Number() | Coordinate() | Apply() | Power() | Carried():
                        pass  # what they are made of is met as atoms of its own
                    case _:
                        assert_never(atom)
            self._free[term] = frozenset(found)
        return self._free[term]

    def inside(self, term: int) -> Iterable[Atom]:
        """All atoms of a term, outer ones first."""
        pending, seen = [term], {term}
        while pending:
            current = pending.pop()
            for (factors, exponent), _ in self._polys[current] if current else ():
                inner = [exponent]
                for number, _ in factors:
                    atom = self.atoms[number]
                    yield atom
                    inner += parts_of(atom)
                fresh = [t for t in inner if t not in seen]
                seen.update(fresh)
                pending += fresh
