"""What a register element is worth: terms over tensor elements, in a normal form for sums, products and exponentials.

    rmsnorm    x * rsqrt(sum(x*x) / D + eps) * w      X · (base(1/D · red(sum, Dim, X²) + eps))^-1/2 · W

A term is a sum of monomials; a monomial is a coefficient, powers of atoms and one exponential 2**argument. Leaves have
no coordinates of their own: the tag beside the term says which coordinate an element has on each axis, and every leaf
of a term stands at these ("X" above is X[m, n] of the element's own m and n). A reduction binds one axis: its body's
coordinate on that axis runs over the coordinates that were `reduction_footprint`.

The normal form makes what is equal by algebra identical: sums and products commute, x - x is nothing, factors that do
not depend on a reduced axis stand before the sum, 2**a · 2**b is 2**(a+b), sums over parts of an axis add up to a sum
over their union, a maximum of maxima is one. So the weights of an online softmax, rescaled any number of times, become

    2**-T · red(sum, Sk, 2**s · V, taken)

whatever the running maximum T is, and T cancels in numerator / denominator.

Terms are interned: equal terms are the same number, UNKNOWN is absorbing. Numbers are real numbers here: rounding and
conversions between float types are not seen. Where a step would lose a place at which the arithmetic is undefined (a/a
is 1, 0 · log2(a) is 0), it is not made (`definedness`), unless it is `formal`. Masks in a monomial select.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import reduce
from math import inf, isfinite, log2

from argus.check.domain import reduction_footprint as sets
from argus.check.domain.reduction_footprint import ReducedFootprint
from argus.check.solve.limits import spend
from argus.check.terms.atoms import (
    ONE,
    UNKNOWN,
    ZERO,
    Apply,
    Atom,
    Carried,
    Factors,
    Mono,
    Number,
    Power,
    Reduce,
    Reduction,
    Where,
)
from argus.check.terms.comparisons import COMPARED, chosen, compared
from argus.check.terms.conditions import one_way
from argus.check.terms.definedness import DefinedTerms
from argus.check.terms.integer_terms import WRAP
from argus.check.terms.vanishing_sums import may_leave_a_sum
from argus.layout import expr as E
from argus.layout.expr import Expr

MAX_MONOMIALS = 64


class Terms(DefinedTerms):
    """The interned terms of one kernel, in normal form."""

    # -- arithmetic ------------------------------------------------------------------------------------------------

    def add(self, x: int, y: int, formal: bool = False) -> int:
        """The sum. What cancels stays as 0 times itself where it may be undefined, unless `formal`."""
        if UNKNOWN in (x, y):
            return UNKNOWN
        if x == ZERO or y == ZERO:
            return y if x == ZERO else x
        key = (x, y, formal) if x < y else (y, x, formal)
        if key not in self._sums:
            self._sums[key] = self._add(x, y, formal)
        return self._sums[key]

    def _add(self, x: int, y: int, formal: bool) -> int:
        infinite = {v for v in (self.value(x), self.value(y)) if v is not None and not isfinite(v)}
        if infinite:
            return self.constant(infinite.pop()) if len(infinite) == 1 else UNKNOWN
        spend(len(self._polys[x]) + len(self._polys[y]))
        total: dict[Mono, float] = dict(self._polys[x])
        openings: dict[tuple[Factors, int, int, int, float], Mono] = {}
        for mono, c in self._polys[x]:
            for key, _ in self._openings(mono, c):
                openings[key] = mono
        for mono, c in self._polys[y]:
            if mono in total:
                total[mono] += c
                continue
            for key, items in self._openings(mono, c):
                partner = openings.get(key)
                if partner is not None and partner in total and total[partner] == c:
                    whole = self._united(partner, key, items)
                    if whole not in total:
                        del total[partner]
                        total[whole] = c
                        break
            else:
                total[mono] = c
        if len(total) > MAX_MONOMIALS:
            return UNKNOWN
        gone = {} if formal else {mono: 1 for mono, c in total.items() if c == 0}
        made = self._made(total)
        undefined = self.zero_times(self._made(gone)) if gone else ZERO
        return made if undefined == ZERO else self.add(made, undefined)

    def _openings(self, mono: Mono, c: float) -> list[tuple[tuple[Factors, int, int, int, float], ReducedFootprint]]:
        """The sums of a monomial that could go on: what must be equal for two of them to be one, and what was taken."""
        found = []
        for n, (number, twice) in enumerate(mono[0]):
            atom = self.atoms[number]
            if twice == 2 and isinstance(atom, Reduce) and atom.op == "sum" and atom.domain is None:
                others = (*mono[0][:n], *mono[0][n + 1 :])
                found.append(((others, mono[1], atom.axis, atom.body, c), atom.footprint))
        return found

    def _united(self, partner: Mono, key: tuple[Factors, int, int, int, float], items: ReducedFootprint) -> Mono:
        others, exponent, axis, body, c = key
        mine = next(footprint for candidate, footprint in self._openings(partner, c) if candidate == key)
        both = Reduce("sum", axis, body, sets.union(mine, items, twice=True))
        return self._times((others, exponent), self._power(both, 2))

    def scaled(self, x: int, c: float) -> int:
        if x == UNKNOWN:
            return UNKNOWN
        return self._made({m: k * c for m, k in self._polys[x]})

    def negative(self, x: int) -> int:
        return self.scaled(x, -1)

    def _times(self, x: Mono, y: Mono, formal: bool = False) -> Mono:
        """Exponents add up formally: where an exponential was taken apart, its argument is finite."""
        return self.times_factors(x[0], y[0], formal), self.add(x[1], y[1], formal=True)

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
            return self.apply("log2", (x,))
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
                inner = self.exp2(self.add(self.scaled(atom.yes, c), rest))
                return self.selected(atom.condition, inner)
        if x == ZERO:
            return ONE
        return self._intern(((((), x), 1),))

    def extreme(self, fn: Reduction, args: Iterable[int]) -> int:
        """The maximum or minimum: flat, without repetition, reductions of one body put together."""
        neutral = -inf if fn == "max" else inf
        flat: set[int] = set()
        for arg in args:
            if arg == UNKNOWN:
                return UNKNOWN
            atom = self.as_atom(arg)
            inner = atom.args if isinstance(atom, Apply) and atom.fn == fn else (arg,)
            flat.update(a for a in inner if self.value(a) != neutral)
        together: dict[tuple[int, int], ReducedFootprint] = {}
        kept: set[int] = set()
        for arg in flat:
            atom = self.as_atom(arg)
            if isinstance(atom, Reduce) and atom.op == fn and atom.domain is None:
                key = atom.axis, atom.body
                together[key] = sets.union(together.get(key, ()), atom.footprint, twice=False)
            else:
                kept.add(arg)
        kept |= {self.atom(Reduce(fn, axis, body, items)) for (axis, body), items in together.items()}
        if not kept:
            return self.constant(neutral)
        if len(kept) == 2:
            found = self._magnitude(fn, *sorted(kept)) or (self._clamped(*sorted(kept)) if fn == "max" else None)
            if found:
                return found
        return next(iter(kept)) if len(kept) == 1 else self.atom(Apply(fn, tuple(sorted(kept))))

    def _magnitude(self, fn: Reduction, x: int, y: int) -> int | None:
        """max(x, -x) is abs(x), min(x, -x) is -abs(x)."""
        if self.negative(x) != y or self.value(x) is not None:
            return None
        found = self.apply("abs", (x,))
        return found if fn == "max" else self.negative(found)

    def _clamped(self, x: int, y: int) -> int | None:
        """max(low, min(high, x)) is min(high, max(low, x)) where low <= high: the minimum stands outside."""
        for low, other in ((x, y), (y, x)):
            bound, atom = self.value(low), self.as_atom(other)
            if bound is None or not isinstance(atom, Apply) or atom.fn != "min":
                continue
            limits = [a for a in atom.args if (v := self.value(a)) is not None and bound <= v]
            rest = [a for a in atom.args if a not in limits]
            if len(limits) == 1 and rest:
                return self.extreme("min", (limits[0], self.extreme("max", (low, self.extreme("min", rest)))))
        return None

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

    def apply(self, fn: str, args: tuple[int, ...]) -> int:
        if UNKNOWN in args:
            return UNKNOWN
        if fn in COMPARED:
            return compared(self, fn, *args)
        if fn == "select" and len(args) == 3:
            return chosen(self, *args)
        mask = self.value(args[1]) if fn == "and" else None
        if isinstance(mask, int) and mask > 0 and mask & (mask + 1) == 0 and self.whole_range(args[0]) is not None:
            return self.masked(args[0], mask)
        if fn == "abs" and args[0] != ZERO and self._polys[args[0]][0][1] < 0:  # of x and -x the one that begins with +
            args = (self.negative(args[0]),)
        return self.atom(Apply(fn, args))

    # -- reductions ------------------------------------------------------------------------------------------------

    def reduce(self, op: Reduction, axis: int, body: int, items: ReducedFootprint, domain: Expr | None = None) -> int:
        """`op` of the body over the items. From a sum, factors that do not depend on the axis are taken out."""
        if body in (UNKNOWN, ZERO):
            return body if op == "sum" or body == UNKNOWN or axis not in self.axes(body) else UNKNOWN
        if op != "sum":
            return self.atom(Reduce(op, axis, body, items, domain)) if axis in self.axes(body) else body
        total = ZERO
        for (factors, exponent), c in self._polys[body]:
            inner = tuple(f for f in factors if axis in self.atom_axes(self.atoms[f[0]]))
            outer = tuple(f for f in factors if f not in inner)
            within, without = self._split(exponent, axis)
            if not may_leave_a_sum(self, within, without):
                within, without = exponent, ZERO
            core = self._intern((((inner, within), 1),))
            reduced = self._power(Reduce("sum", axis, core, items, domain), 2)
            total = self.add(total, self.monomial(self._times((outer, without), reduced), c))
        return total

    def _split(self, term: int, axis: int) -> tuple[int, int]:
        """The monomials that depend on the axis, and the others."""
        within: dict[Mono, float] = {}
        without: dict[Mono, float] = {}
        for mono, c in self._polys[term]:
            depends = axis in self.axes(self._intern(((mono, 1),)))
            (within if depends else without)[mono] = c
        return self._made(within), self._made(without)

    # -- rewriting -------------------------------------------------------------------------------------------------

    def rewritten(
        self,
        term: int,
        change: Callable[[Atom], int | None],
        memo: dict[int, int],
        number: Callable[[float], float] | None = None,
    ) -> int:
        """The term built anew with atoms replaced: `change` gives a term, or None to keep the atom, its parts
        rewritten. `number` replaces coefficients."""
        if term in (UNKNOWN, ZERO, ONE):
            return term
        if term in memo:
            return memo[term]
        spend(len(self._polys[term]))
        total = ZERO
        for (factors, exponent), c in self._polys[term]:
            product = self.constant(c if number is None else number(c))
            if exponent != ZERO:
                product = self.multiply(product, self.exp2(self.rewritten(exponent, change, memo, number)))
            masks = [self._replaced(self.atoms[n], change, memo, number) for n, _ in factors if self.indicator(n)]
            for n, twice in factors:
                if not self.indicator(n) and ZERO not in masks:
                    atom = self._replaced(self.atoms[n], change, memo, number)
                    product = self.multiply(product, self.power(atom, twice))
            total = self.add(total, reduce(self._under, masks, product))
        memo[term] = total
        return total

    def _under(self, term: int, mask: int) -> int:
        """The term selected by what a mask has become."""
        if mask in (ONE, ZERO):
            return term if mask == ONE else ZERO
        atom = self.as_atom(mask)
        if isinstance(atom, Where) and (atom.yes, atom.no) == (ONE, ZERO):
            return self.selected(atom.condition, term)
        return self.multiply(mask, term)

    def _replaced(
        self,
        atom: Atom,
        change: Callable[[Atom], int | None],
        memo: dict[int, int],
        number: Callable[[float], float] | None,
    ) -> int:
        changed = change(atom)
        if changed is not None:
            return changed

        def inner(term: int) -> int:
            return self.rewritten(term, change, memo, number)

        match atom:
            case Apply(fn=("max" | "min") as fn, args=args):
                return self.extreme(fn, [inner(a) for a in args])
            case Apply(fn="log2", args=(arg,)):
                return self.log2(inner(arg))
            case Apply(fn=fn, args=(arg,)) if fn.startswith(WRAP):
                return self.wrapped(fn.removeprefix(WRAP), inner(arg))
            case Apply(fn=fn, args=args):
                return self.apply(fn, tuple(inner(a) for a in args))
            case Power(base=base):
                return inner(base)
            case Where(condition=condition, yes=yes, no=no):
                return self.where(condition, inner(yes), inner(no))
            case Reduce():
                return self.reduce(atom.op, atom.axis, inner(atom.body), atom.footprint, atom.domain)
            case _:
                return self.atom(atom)

    def substituted(self, term: int, mapping: Mapping[Expr, Expr | int]) -> int:
        """Variables of index expressions replaced."""
        if not self.free(term) & mapping.keys():
            return term
        memo: dict[int, int] = {}

        def change(atom: Atom) -> int | None:
            match atom:
                case Number(name=Expr() as e):
                    return self.atom(Number(e.subst(mapping)))
                case Where(condition=condition, yes=yes, no=no):
                    return self.where(
                        condition.subst(mapping), self.rewritten(yes, change, memo), self.rewritten(no, change, memo)
                    )
                case Reduce():
                    items = sets.substituted(atom.footprint, mapping)
                    if not items:
                        return self._over_nothing(atom.op)
                    return self.reduce(atom.op, atom.axis, self.rewritten(atom.body, change, memo), items, atom.domain)
                case Carried(counter=Expr() as counter):
                    around = tuple(e.subst(mapping) for e in atom.around)
                    return self.atom(replace(atom, counter=counter.subst(mapping), around=around))
                case _:
                    return None

        return self.rewritten(term, change, memo)

    def _over_nothing(self, op: Reduction) -> int:
        return ZERO if op == "sum" else self.constant(-inf if op == "max" else inf)


def _raised(c: float, twice: int) -> float:
    """c to the power twice/2; infinite where that is too large."""
    try:
        return c ** (twice // 2) if twice % 2 == 0 else float(c) ** (twice / 2)
    except OverflowError:
        return inf
