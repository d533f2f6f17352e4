"""Sums, products, powers, exponentials and masks of terms, each brought into the normal form (`normal_form`).

    x - x                        nothing, where x is total; else 0 times x (`definedness`)
    2**a * 2**b                  2**(a + b)
    sum over part A + sum over part B of one axis, bodies equal        the sum over both parts
    where(n < N, a, -inf) * 2    where(n < N, 2 a, -inf)

The sum of two monomials that differ only in what their sums have taken is one monomial. Where a step would lose a place
at which the arithmetic is undefined, it is not made, unless it is `formal`.
"""

from __future__ import annotations

from math import inf, isfinite, log2

from argus.check.domain import reduction_footprint as sets
from argus.check.domain.reduction_footprint import ReducedFootprint
from argus.check.solve.limits import spend
from argus.check.terms.atoms import ONE, UNKNOWN, ZERO, Apply, Carried, Factors, Mono, Number, Power, Reduce, Where
from argus.check.terms.conditions import one_way
from argus.check.terms.definedness import DefinedTerms
from argus.layout import expr as E
from argus.layout.expr import Expr

MAX_MONOMIALS = 128
"""Products of one term: a convolution has as many as taps, 125 for 5 x 5 x 5."""


Opening = tuple[Factors, int, int, int]
"""Of a sum inside a monomial: the other factors, the exponent, the axis and the body."""


class TermArithmetic(DefinedTerms):
    """Terms that are added, multiplied, raised to powers, and selected by conditions."""

    def __init__(self) -> None:
        super().__init__()
        self._open_sums: dict[Mono, list[tuple[Opening, ReducedFootprint]]] = {}

    def add(self, x: int, y: int, formal: bool = False, shown: bool = False) -> int:
        """The sum. What cancels stays as 0 times itself where it may be undefined, unless `formal`; `shown`: maxima
        are known to be finite."""
        if UNKNOWN in (x, y):
            return UNKNOWN
        if x == ZERO or y == ZERO:
            return y if x == ZERO else x
        key = (x, y, formal, shown) if x < y else (y, x, formal, shown)
        found = self._sums.get(key)
        if found is None:
            found = self._sums[key] = self._add(x, y, formal, shown)
        return found

    def _add(self, x: int, y: int, formal: bool, shown: bool) -> int:
        infinite = {v for v in (self.value(x), self.value(y)) if v is not None and not isfinite(v)}
        if infinite:
            finite = formal or all(self.value(t) in infinite or self.total(t, shown) for t in (x, y))
            return self.constant(infinite.pop()) if len(infinite) == 1 and finite else UNKNOWN
        spend(len(self._polys[x]) + len(self._polys[y]))
        total: dict[Mono, float] = dict(self._polys[x])
        unions: dict[tuple[int, int], ReducedFootprint] = {}  # monomials of one sum share what they have taken
        openings: dict[tuple[Opening, float], tuple[Mono, ReducedFootprint]] = {}
        opposite: dict[Mono, float] = {}  # 2 t - t is t of a finite t only
        for mono, c in self._polys[x]:
            for opening, footprint in self._openings(mono):
                openings[opening, c] = mono, footprint
        for mono, c in self._polys[y]:
            if mono in total:
                if total[mono] * c < 0 and not formal and not shown and self.may_be_infinite(mono):
                    opposite[mono] = 1
                total[mono] += c
                continue
            for opening, items in self._openings(mono):
                partner, mine = openings.get((opening, c), (None, ()))
                if partner is not None and partner in total and total[partner] == c:
                    both = unions.get((id(mine), id(items)))
                    if both is None:
                        both = unions[id(mine), id(items)] = sets.union(mine, items, twice=True)
                    whole = self._united(opening, both)
                    if whole not in total:
                        del total[partner]
                        total[whole] = c
                        break
            else:
                total[mono] = c
        if len(total) > MAX_MONOMIALS:
            return UNKNOWN
        gone = {} if formal else {**opposite, **{mono: 1 for mono, c in total.items() if c == 0}}
        made = self.made(total)
        undefined = self.zero_times(self.made(gone), shown) if gone else ZERO
        return made if undefined == ZERO else self.add(made, undefined, shown=shown)

    def _openings(self, mono: Mono) -> list[tuple[Opening, ReducedFootprint]]:
        """The sums of a monomial that could go on: what must be equal for two of them to be one, and what was taken."""
        found = self._open_sums.get(mono)
        if found is None:
            found = self._open_sums[mono] = []
            for n, (number, twice) in enumerate(mono[0]):
                atom = self.atoms[number]
                if twice == 2 and isinstance(atom, Reduce) and atom.op == "sum" and atom.domain is None:
                    others = (*mono[0][:n], *mono[0][n + 1 :])
                    found.append(((others, mono[1], atom.axis, atom.body), atom.footprint))
        return found

    def _united(self, opening: Opening, items: ReducedFootprint) -> Mono:
        others, exponent, axis, body = opening
        return self._times((others, exponent), self._power(Reduce("sum", axis, body, items), 2))

    def scaled(self, x: int, c: float) -> int:
        if x == UNKNOWN:
            return UNKNOWN
        return self.made({m: k * c for m, k in self._polys[x]})

    def negative(self, x: int) -> int:
        return self.scaled(x, -1)

    def _times(self, x: Mono, y: Mono, formal: bool = False) -> Mono:
        """2^a * 2^b is 2^(a + b), and a + b keeps what it takes to be defined: 2^w * 2^-w is 1 for a finite w only."""
        factors = self.times_factors(x[0], y[0], formal)
        exponent = self.add(x[1], y[1], formal, shown=True) if x[1] != ZERO or y[1] != ZERO else ZERO
        return self._one_product(factors) if self.multiplies else factors, exponent

    def _one_product(self, factors: Factors) -> Factors:
        """Factors that are products of one body over an axis, as one over the coordinates of all."""
        together: dict[tuple[int, int], ReducedFootprint] = {}
        kept: list[tuple[int, int]] = []
        for number, twice in factors:
            atom = self.atoms[number]
            if twice == 2 and isinstance(atom, Reduce) and atom.op == "prod" and atom.domain is None:
                key = atom.axis, atom.body
                together[key] = sets.union(together.get(key, ()), atom.footprint, twice=True)
            else:
                kept.append((number, twice))
        kept += [(self.number_of(Reduce("prod", *key, items)), 2) for key, items in together.items()]
        return tuple(sorted(kept))

    def multiply(self, x: int, y: int, formal: bool = False) -> int:
        """The product; `formal`: factors cancel, masks and zeros win over what is undefined."""
        if formal and ZERO in (x, y):
            return ZERO
        if UNKNOWN in (x, y):
            return UNKNOWN
        if ZERO in (x, y):
            return self.zero_times(y if x == ZERO else x)
        if ONE in (x, y):
            return y if x == ONE else x
        key = (x, y, formal) if x < y else (y, x, formal)
        if key not in self._products:
            self._products[key] = self._multiply(x, y, formal)
        return self._products[key]

    def _multiply(self, x: int, y: int, formal: bool) -> int:
        values = self.value(x), self.value(y)
        for c, other in ((values[0], y), (values[1], x)):
            if c is not None:
                if not isfinite(c):
                    return self._infinite(c, other)
                return self._scaled_mask(other, c)
        for mask, factor in ((x, y), (y, x)):
            atom = self.as_atom(mask)
            if isinstance(atom, Where) and self.value(atom.no) == -inf and self.is_positive(factor):
                return self.where(atom.condition, self.multiply(atom.yes, factor, formal), atom.no)
        if len(self._polys[x]) * len(self._polys[y]) > MAX_MONOMIALS:
            return UNKNOWN
        total = ZERO
        for m, c in self._polys[x]:
            for n, d in self._polys[y]:
                mono = self._times(m, n, formal)
                if mono[1] == UNKNOWN:
                    return UNKNOWN
                total = self.add(total, self.monomial(mono, c * d), formal)
                for mine, beside in () if formal else ((m, n), (n, m)):
                    conditions, undefined = self.unmasked(mine, beside)
                    if undefined != ZERO:
                        total = self.add(total, self.selected(one_way(E.lnot(E.land(*conditions))), undefined))
        return total

    def selected(self, condition: Expr, term: int) -> int:
        """The term where the condition holds, else 0, whatever it is there."""
        if term in (UNKNOWN, ZERO):
            return term
        mask = self.number_of(Where(condition))
        total = ZERO
        for (factors, exponent), c in self._polys[term]:
            total = self.add(total, self.monomial((self.times_factors(factors, ((mask, 2),), True), exponent), c))
        return total

    def where(self, condition: Expr, yes: int, no: int) -> int:
        """A choice by indices; choices of the same two values, one in the other, are one."""
        if UNKNOWN in (yes, no):
            return UNKNOWN
        if yes == no or condition is E.TRUE:
            return yes
        if condition is E.FALSE:
            return no
        if no == ZERO:
            return self.selected(condition, yes)
        if yes == ZERO:
            return self.selected(E.lnot(condition), no)
        inner = self.as_atom(yes)
        if isinstance(inner, Where) and inner.no == no:
            return self.where(one_way(E.land(condition, inner.condition)), inner.yes, no)
        return self.atom(Where(condition, yes, no))

    def is_positive(self, term: int) -> bool:
        """A number known to be greater than zero: a product of scalars that are."""
        if term in (UNKNOWN, ZERO) or len(self._polys[term]) != 1:
            return False
        (factors, exponent), c = self._polys[term][0]
        atoms = [self.atoms[n] for n, _ in factors]
        return c > 0 and exponent == ZERO and all(isinstance(a, Number) and a.name in self.positive for a in atoms)

    def is_exponential(self, term: int) -> bool:
        """Greater than zero, whatever it depends on: 2**x, times positive numbers."""
        if term in (UNKNOWN, ZERO) or len(self._polys[term]) != 1:
            return False
        (factors, _), c = self._polys[term][0]
        left = [f for f in factors if not (isinstance(a := self.atoms[f[0]], Carried) and a.kind == "positive")]
        return self.is_positive(self._intern((((tuple(left), ZERO), c),)))

    def log2(self, x: int) -> int:
        """The binary logarithm; of an exponential it is its argument, whatever stands beside it."""
        if x == UNKNOWN or len(self._polys[x]) != 1:
            return UNKNOWN if x == UNKNOWN else self.atom(Apply("log2", (x,)))
        (factors, exponent), c = self._polys[x][0]
        if not factors and c > 0 and isfinite(c):
            return self.add(exponent, self.constant(log2(c)))
        rest = self.monomial((factors, ZERO), c)
        return self.add(exponent, self.atom(Apply("log2", (rest,))))

    def _infinite(self, c: float, other: int) -> int:
        """An infinite number times a number."""
        factor = self.value(other)
        return self.constant(c * factor) if factor else UNKNOWN

    def _scaled_mask(self, x: int, c: float) -> int:
        """A positive factor goes into a mask by -inf, so that masked values look the same before and after scaling."""
        atom = self.as_atom(x)
        if isinstance(atom, Where) and c > 0 and self.value(atom.no) == -inf:
            return self.where(atom.condition, self.scaled(atom.yes, c), atom.no)
        return self.scaled(x, c)

    def power(self, x: int, twice: int, formal: bool = False) -> int:
        """x to the power twice/2. 1/(1/a) is a, and a root to the second what it is of, only formally."""
        if x == UNKNOWN or (x == ZERO and twice < 0):
            return UNKNOWN
        if twice == 2:
            return x
        value = self.value(x)
        if value is not None and isfinite(value) and (value > 0 or twice % 2 == 0):
            return self.constant(_raised(value, twice))
        poly = self._polys[x]
        if (
            twice % 2 == 0
            and len(poly) == 1
            and (twice > 0 or not self._masked(poly[0][0]))
            and (formal or not any((twice < 0 and e < 0) or (e % 2 and abs(twice) > 2) for _, e in poly[0][0][0]))
        ):
            (factors, exponent), c = poly[0]
            powers = tuple((n, 2 if self.indicator(n) else e * twice // 2) for n, e in factors)
            return self.monomial((powers, self.scaled(exponent, twice // 2)), _raised(c, twice))
        return self._intern(((self._power(Power(x), twice), 1),))

    def _masked(self, mono: Mono) -> bool:
        return any(isinstance(self.atoms[n], Where) for n, _ in mono[0])

    def quotient(self, x: int, y: int) -> int:
        """x / y, formally: common factors cancel."""
        return self.multiply(x, self.power(y, -2, formal=True), formal=True)

    def exp2(self, x: int) -> int:
        """2**x. A mask by -inf in the argument becomes a mask by zero."""
        if x == UNKNOWN:
            return UNKNOWN
        if self.value(x) == -inf:
            return ZERO
        if self.value(x) == inf:
            return UNKNOWN
        for mono, c in self._polys[x]:
            atom = self.atoms[mono[0][0][0]] if len(mono[0]) == 1 and mono[0][0][1] == 2 and mono[1] == ZERO else None
            if c > 0 and isinstance(atom, Where) and self.value(atom.no) == -inf:
                rest = self.add(x, self.monomial(mono, -c), formal=True)
                if not self.total(rest, shown=True):
                    break  # NaN beside -inf is not -inf
                inner = self.exp2(self.add(self.scaled(atom.yes, c), rest))
                return self.selected(atom.condition, inner)
        if x == ZERO:
            return ONE
        return self._intern(((((), x), 1),))


def _raised(c: float, twice: int) -> float:
    """c to the power twice/2; infinite where that is too large."""
    try:
        return c ** (twice // 2) if twice % 2 == 0 else float(c) ** (twice / 2)
    except OverflowError:
        return inf
