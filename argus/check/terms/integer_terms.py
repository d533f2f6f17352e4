"""Terms of integers: whole numbers, of which a register holds the residue.

A register of an integer type of b bits holds its term modulo 2^b. Sums, differences and products of residues are those
of the terms, so arithmetic needs no care, whatever wraps around on the way:

    u8    v * v                  X²                      stored as u8: the specification's x[i] * x[i] modulo 2^8
    u8    (v * v).to(i32)        wrap to u8(X²)          no longer: the number itself is asked for
    u8    v.to(i32) * v.to(i32)  X²                      0 <= X <= 255, so X² is an i32
    i8    max(v + v, w)          max(wrap to i8(2 X), W)

Whoever needs the number (comparisons, maxima, shifts, conversions to wider types and to floats, matrix instructions)
asks for `wrapped`: the term where it is shown to lie in the type, else a function of it that equals nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import assert_never

from argus.check.domain.reduction_footprint import FootprintPart, ReducedFootprint
from argus.check.terms.atoms import (
    UNKNOWN,
    ZERO,
    Apply,
    Atom,
    Carried,
    Coordinate,
    Leaf,
    Number,
    Power,
    Reduce,
    Where,
)
from argus.check.terms.term_store import Interned
from argus.layout.expr import Expr

WRAP = "wrap to "
MOST_BITS = 64
"""Of the widest integer type: amounts of shifts are below (`amount`)."""
RING = frozenset({"add", "sub", "mul", "neg"})
"""Functions of residues: modulo 2^b they are those of the numbers."""
_INDEX = (-(2**31), 2**31 - 1)
"""Sizes, and indices used as data (rule `fits`)."""
_TRUTH = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
Range = tuple[int, int]


def numbers_of(name: str) -> Range:
    """The least and the greatest number of an integer type, by its name: i8, u16, …"""
    bits = int(name[1:])
    return (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


class IntegerTerms(Interned):
    """Terms with the ranges of integers."""

    def __init__(self) -> None:
        super().__init__()
        self.types: dict[str, str] = {}
        """Types of integer tensors and scalar arguments, by name."""
        self._ranges: dict[int, Range | None] = {}

    def wrapped(self, name: str, term: int) -> int:
        """What a register of the type holds whose term is known modulo 2^bits."""
        if term == UNKNOWN:
            return UNKNOWN
        low, high = numbers_of(name)
        value = self.value(term)
        if isinstance(value, int):
            return self.constant((value - low) % (high - low + 1) + low)
        found = self.whole_range(term)
        if found is not None and low <= found[0] and found[1] <= high:
            return term
        return self.atom(Apply(WRAP + name, (self.residue(term, int(name[1:])),)))

    def masked(self, term: int, mask: int) -> int:
        """A whole number modulo mask + 1, which is a power of two: what it wraps around by makes no difference."""
        if term == UNKNOWN or mask == 0:
            return term if term == UNKNOWN else ZERO
        return self.atom(Apply("and", (self.residue(term, mask.bit_length()), self.constant(mask))))

    def amount(self, term: int, bits: int) -> int:
        """What a shift of so many bits takes of its amount (rule `shift-amount`): the amount modulo `bits`."""
        if term == UNKNOWN:
            return UNKNOWN
        value = self.value(term)
        if value is not None:
            return self.constant(int(value) % bits) if value == int(value) else UNKNOWN
        found = self.whole_range(term)
        return term if found is not None and 0 <= found[0] <= found[1] < bits else self.masked(term, bits - 1)

    def residue(self, term: int, bits: int) -> int:
        """The term without a wrap around that makes no difference modulo 2^bits."""
        atom = self.as_atom(term)
        if isinstance(atom, Apply) and atom.fn.startswith(WRAP) and int(atom.fn.removeprefix(WRAP)[1:]) >= bits:
            return atom.args[0]
        return term

    def congruent(self, x: int, y: int, bits: int) -> bool:
        """Two terms of whole numbers are known to be equal modulo 2^bits."""
        if UNKNOWN in (x, y):
            return False
        x, y = self.residue(x, bits), self.residue(y, bits)
        if x == y:
            return True
        left, right = dict(self[x]), dict(self[y])
        for mono in left.keys() | right.keys():
            difference = left.get(mono, 0) - right.get(mono, 0)
            whole = isinstance(difference, int) and difference % 2**bits == 0
            if not whole or (difference and self.whole_range(self.monomial(mono, 1)) is None):
                return False
        return True

    # -- ranges ----------------------------------------------------------------------------------------------------

    def whole_range(self, term: int) -> Range | None:
        """Numbers between which a term of whole numbers lies; None: not known, or no whole number."""
        if term == UNKNOWN:
            return None
        if term not in self._ranges:
            parts = [self._monomial_range(factors, exponent, c) for (factors, exponent), c in self[term]]
            known = [part for part in parts if part is not None]
            whole = len(known) == len(parts)
            self._ranges[term] = (sum(p[0] for p in known), sum(p[1] for p in known)) if whole else None
        return self._ranges[term]

    def _monomial_range(self, factors: Iterable[tuple[int, int]], exponent: int, c: float) -> Range | None:
        if exponent != ZERO or not isinstance(c, int):
            return None
        found = (c, c)
        for number, twice in factors:
            one = self._atom_range(self.atoms[number]) if twice > 0 and twice % 2 == 0 else None
            if one is None:
                return None
            found = _times(found, _power(one, twice // 2))
        return found

    def _atom_range(self, atom: Atom) -> Range | None:
        match atom:
            case Leaf(tensor=name):
                return numbers_of(self.types[name]) if name in self.types else None
            case Number(name=name):
                return self._number_range(name)
            case Coordinate():
                return _INDEX
            case Apply(fn=fn, args=args):
                return self._function_range(fn, args)
            case Where(yes=yes, no=no):
                return _union([self.whole_range(yes), self.whole_range(no)])
            case Reduce(op="sum", body=body, footprint=footprint):
                return _repeated(self.whole_range(body), _count(footprint))
            case Reduce(op="prod"):
                return None
            case Reduce(body=body):
                return self.whole_range(body)
            case Power() | Carried():
                return None
            case _:
                assert_never(atom)

    def _number_range(self, name: str | Expr) -> Range | None:
        if isinstance(name, str):
            return numbers_of(self.types[name]) if name in self.types else None
        low, high = name.bounds()
        return (_INDEX[0] if low is None else low, _INDEX[1] if high is None else high)

    def _function_range(self, fn: str, args: tuple[int, ...]) -> Range | None:
        if fn.startswith(WRAP):
            return numbers_of(fn.removeprefix(WRAP))
        if fn in _TRUTH:
            return 0, 1
        if fn == "select":
            return _union([self.whole_range(arg) for arg in args[1:]])
        ranges = [found for arg in args if (found := self.whole_range(arg)) is not None]
        if len(ranges) < len(args):
            return None
        if fn in ("max", "min"):
            pick = max if fn == "max" else min
            return pick(r[0] for r in ranges), pick(r[1] for r in ranges)
        if fn == "abs":
            return _power_of_sign(ranges[0])
        low, high = ranges[-1]
        if fn == "shr" and low == high and 0 <= low < MOST_BITS:
            return ranges[0][0] >> low, ranges[0][1] >> low
        if fn == "and" and low == high >= 0:
            return 0, high
        return None


def _times(x: Range, y: Range) -> Range:
    ends = [prod(pair) for pair in ((a, b) for a in x for b in y)]
    return min(ends), max(ends)


def _power(x: Range, exponent: int) -> Range:
    if exponent % 2 == 0:
        low, high = _power_of_sign(x)
        return low**exponent, high**exponent
    return x[0] ** exponent, x[1] ** exponent


def _power_of_sign(x: Range) -> Range:
    """Magnitudes."""
    ends = abs(x[0]), abs(x[1])
    return 0 if x[0] <= 0 <= x[1] else min(ends), max(ends)


def _union(found: list[Range | None]) -> Range | None:
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    return min(one[0] for one in known), max(one[1] for one in known)


def _repeated(one: Range | None, times: int | None) -> Range | None:
    """A sum of at most so many."""
    if one is None or times is None:
        return None
    return min(0, one[0] * times), max(0, one[1] * times)


def _count(footprint: ReducedFootprint) -> int | None:
    """How many coordinates were taken at most; None: nobody knows."""
    parts = [item for item in footprint if isinstance(item, FootprintPart)]
    return sum(part.mask.bit_count() for part in parts) if parts and len(parts) == len(footprint) else None
