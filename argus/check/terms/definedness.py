"""Where a term is defined, and the one product of monomials that keeps it so.

What a register holds is its term *wherever the term is defined*: finite, and no root or logarithm of a negative number,
no division by zero on the way. So no step may make a term more defined than the arithmetic it stands for:

    x * rcp(x)             times(x, 1/x)         1 only where x is not zero
    sqrt(x) * sqrt(x)      times(√x, √x)         x only where x is not negative
    (v - v) * log2(y)      zero times(log2(y))   0 only where y is positive
    mask * log2(y)         log2(y) where the mask holds, else zero times(log2(y))
    where(mask, log2(y), 0)                      log2(y) where the mask holds, else 0: a selection, not a product
    exp2(sqrt(y) - inf)                          not known: 0 only where y is not negative

Premises of every proof: inputs are finite, and nothing overflows. Under them a term is *total* that is made of inputs
by functions defined everywhere. A maximum is, unless masks by -inf may leave nothing of it (`leaves_something`). In an
exponent it counts as finite, *shown*: whoever put it there has asked (`elementwise_terms.exponential`), of maxima in
maxima too.

Two ways to multiply and add: `multiply` and `add` (`normal_form`) are those of registers. The *formal* ones cancel
freely: of specifications, whose value is compared only where they are defined, and of guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from typing import assert_never

from argus.check.domain.reduction_footprint import ReducedFootprint, certain_parts
from argus.check.terms.atoms import (
    NEUTRAL,
    ONE,
    UNKNOWN,
    ZERO,
    Apply,
    Atom,
    Carried,
    Coordinate,
    Factors,
    Leaf,
    Mono,
    Number,
    Power,
    Reduce,
    Where,
    axis_of,
    own,
)
from argus.check.terms.integer_terms import WRAP, IntegerTerms
from argus.ir.maps import MAPS
from argus.layout import expr as E
from argus.layout.expr import Expr

Holds = Callable[[Atom], bool]
APART, NOTHING_TIMES = "times", "zero times"
STEADY = frozenset({
    "abs", "max", "min", "select", "exp2", "log2", "exp", "log", "sqrt", "rsqrt", "rcp", "tanh", "erf", "sigmoid",
    "pow", NOTHING_TIMES, APART,
})  # fmt: skip
"""Functions by which a number that is a little off stays so; all others are taken to jump. What is selected is steady,
the test of it is a function of its own."""
_CONVERSIONS = (WRAP, "to ", "cut to ")
_NOT_NEGATIVE = frozenset({"abs", "exp2", "exp", "sigmoid", "sqrt"})


def defined_everywhere(fn: str) -> bool:
    """A function that has a finite value for all finite operands."""
    row = MAPS.get(fn)
    return fn.startswith(_CONVERSIONS) or (row is not None and not row.domain)


def leaves_something(masks: Iterable[Expr], axis: int, items: ReducedFootprint, domain: Expr | None) -> bool:
    """Of what a reduction takes, masks leave something for certain, wherever the other coordinates are: the first
    coordinate of the domain, or of a part that is taken."""
    if domain is not None:
        masks, first = (*masks, domain), [E.const(0)]
    else:
        first = [part.rest + part.low for part in certain_parts(items, lambda runs: runs is E.TRUE)]
    whole = E.land(*masks)
    others = {v: E.var(v.name, 0) for v in whole.free() if axis_of(v) not in (None, axis)}
    return any(whole.subst({**others, own(axis): at}) is E.TRUE for at in first)


class DefinedTerms(IntegerTerms):
    """Terms that know where they are defined."""

    def __init__(self) -> None:
        super().__init__()
        self._total: dict[tuple[int, bool, bool], bool] = {}

    def total(self, term: int, shown: bool = False, infinite: bool = False) -> bool:
        """Finite for all finite inputs. `shown`: its maxima are known to be, as those of exponents; `infinite`: numbers
        that are written or masked as infinite do not count, poles do."""
        if term == UNKNOWN:
            return False
        key = term, shown, infinite
        if key not in self._total:
            self._total[key] = all(
                (infinite or isfinite(c))
                and self.total(exponent, True, infinite)
                and all(self.total_factor(f, shown, infinite) for f in factors)
                for (factors, exponent), c in self[term]
            )
        return self._total[key]

    def total_factor(self, factor: tuple[int, int], shown: bool = False, infinite: bool = False) -> bool:
        atom, twice = self.atoms[factor[0]], factor[1]
        if twice < 0 and not self.positive_atom(atom):
            return False
        if twice % 2 and not (isinstance(atom, Power) and self.not_negative(atom.base)):
            return False
        match atom:
            case Leaf() | Number() | Coordinate():
                return True
            case Carried(kind=kind):
                return kind == "positive" or (kind == "top" and (shown or infinite))
            case Apply(fn="select", args=args):
                return all(self.total(arg, shown, infinite) for arg in args[1:])
            case Apply(fn="max" | "min" as fn, args=args):
                left = [arg for arg in args if not self.total(arg, shown, infinite)]
                return len(left) < len(args) and all(self._extreme_of_nothing(fn, arg) for arg in left)
            case Apply(fn=fn, args=args):
                return defined_everywhere(fn) and all(self.total(arg, shown, infinite) for arg in args)
            case Power(base=base):
                return self.total(base, shown, infinite)
            case Where(yes=yes, no=no):
                return self.total(yes, shown, infinite) and self.total(no, shown, infinite)
            case Reduce(op="sum", body=body):
                return self.total(body, shown, infinite)
            case Reduce(axis=axis, footprint=items, domain=domain) as reduced:
                body, masks = self.taken(reduced)
                sure = shown or infinite or leaves_something(masks, axis, items, domain)
                return sure and self.total(body, shown, infinite)
            case _:
                assert_never(atom)

    def taken(self, reduced: Reduce) -> tuple[int, list[Expr]]:
        """What goes into an extreme where its mask, by the number that counts for nothing, leaves it, and the mask."""
        inner = self.as_atom(reduced.body)
        if isinstance(inner, Where) and self.value(inner.no) == NEUTRAL[reduced.op]:
            return inner.yes, [inner.condition]
        return reduced.body, []

    def _extreme_of_nothing(self, fn: str, term: int) -> bool:
        """At worst a maximum of nothing, which another maximum passes over."""
        atom = self.as_atom(term)
        return isinstance(atom, Reduce) and atom.op == fn and self.total(self.taken(atom)[0])

    def may_be_infinite(self, mono: Mono) -> bool:
        """A factor is a number that is written as infinite, or a maximum that masks may leave without any value: -inf,
        and no pole is on the way."""
        return any(not self.total_factor(f) and self.total_factor(f, infinite=True) for f in mono[0])

    # -- signs -----------------------------------------------------------------------------------------------------

    def positive_atom(self, atom: Atom) -> bool:
        """Greater than zero, whatever it depends on. A size is, by its bounds; a block or lane number may be zero."""
        match atom:
            case Number(name=str() as name):
                return name in self.positive
            case Number(name=Expr() as e):
                low, _ = e.bounds()
                return low is not None and low > 0
            case Carried(kind=kind):
                return kind == "positive"
            case Apply(fn=fn):
                return fn in ("exp2", "exp", "sigmoid")
            case Power(base=base):
                return self._all_signs(base, self.positive_atom)
            case _:
                return False

    def not_negative(self, term: int) -> bool:
        return self._all_signs(term, self._atom_not_negative)

    def _all_signs(self, term: int, holds: Holds) -> bool:
        """Every product has a positive coefficient, and each of its factors is what is asked, or a square for it."""
        if term in (UNKNOWN, ZERO):
            return term == ZERO and holds != self.positive_atom
        strict = holds == self.positive_atom
        return all(
            c > 0 and all(holds(self.atoms[n]) or (twice % 4 == 0 and not strict) for n, twice in factors)
            for (factors, _), c in self[term]
        )

    def _atom_not_negative(self, atom: Atom) -> bool:
        match atom:
            case Apply(fn=fn) if fn in _NOT_NEGATIVE:
                return True
            case Apply(fn="max", args=args):
                return any((v := self.value(arg)) is not None and v >= 0 for arg in args)
            case Where(yes=yes, no=no):
                return self.not_negative(yes) and self.not_negative(no)
            case Reduce(body=body):
                return self.not_negative(body)
            case _:
                return self.positive_atom(atom)

    # -- products --------------------------------------------------------------------------------------------------

    def indicator(self, number: int) -> bool:
        """1 where a condition holds, else 0."""
        atom = self.atoms[number]
        return isinstance(atom, Where) and atom.yes == ONE and atom.no == ZERO

    def masks(self, factors: Iterable[tuple[int, int]]) -> Factors:
        return tuple(f for f in factors if self.indicator(f[0]))

    def times_factors(self, x: Factors, y: Factors, formal: bool) -> Factors:
        """The product of powers. Those that must not be put together stand in an atom of their own."""
        if not x and len(y) == 1 and not self.indicator(y[0][0]):
            return y
        powers = dict(x)
        for number, twice in y:
            before = powers.get(number, 0)
            if self.indicator(number):
                powers[number] = 2
            elif formal or not before or self._joins(number, before, twice):
                powers[number] = before + twice
            else:
                del powers[number]
                pair = sorted(self.monomial((((number, e),), ZERO), 1) for e in (before, twice))
                both = self.number_of(Apply(APART, tuple(pair)))
                powers[both] = powers.get(both, 0) + 2
        return tuple(sorted((n, e) for n, e in powers.items() if e))

    def _joins(self, number: int, a: int, b: int) -> bool:
        """atom^(a/2) * atom^(b/2) is atom^((a+b)/2) wherever both are defined."""
        atom = self.atoms[number]
        if a * b < 0:  # an exponential of an infinite number is 0 or infinite
            return self.positive_atom(atom) and self.total_factor((number, 2))
        if a % 2 and b % 2:
            return isinstance(atom, Power) and self.not_negative(atom.base)
        return True

    def zero_times(self, term: int, shown: bool = False) -> int:
        """0 * term: what of it may be undefined, once."""
        if term == UNKNOWN:
            return UNKNOWN
        parts: dict[Mono, float] = {}
        for (factors, exponent), c in self[term]:
            partial = tuple(f for f in factors if not self.indicator(f[0]) and not self.total_factor(f, shown))
            rest = ZERO if self.total(exponent, True) else exponent
            if not isfinite(c):
                return UNKNOWN
            if not partial and rest == ZERO:
                continue
            inner = self.monomial((partial, rest), 1)
            atom = self.atoms[partial[0][0]] if len(partial) == 1 and rest == ZERO else None
            known = partial[0][0] if isinstance(atom, Apply) and atom.fn == NOTHING_TIMES else None
            number = self.number_of(Apply(NOTHING_TIMES, (inner,))) if known is None else known
            parts[tuple(sorted({*self.masks(factors), (number, 2)})), ZERO] = 1
        return self.made(parts)

    def unmasked(self, mine: Mono, other: Mono) -> tuple[list[Expr], int]:
        """Where a product is 0 by a mask of one factor, but the other factor may be undefined: the conditions of the
        mask, and 0 times the other factor (ZERO if it is total, or has the same mask)."""
        masks = set(self.masks(mine[0])) - set(self.masks(other[0]))
        conditions = [atom.condition for n, _ in sorted(masks) if isinstance(atom := self.atoms[n], Where)]
        if not conditions:
            return [], ZERO
        return conditions, self.zero_times(self.monomial(other, 1))
