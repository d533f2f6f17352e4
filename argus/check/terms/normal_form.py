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

whatever the running maximum T is, and T cancels in numerator / denominator. Sums, products, powers, exponentials and
masks are made in `term_arithmetic`; functions, extremes and reductions here, and terms that are built anew with parts
replaced.

Terms are interned: equal terms are the same number, UNKNOWN is absorbing. Numbers are real numbers here: rounding and
conversions between float types are not seen. Where a step would lose a place at which the arithmetic is undefined (a/a
is 1, 0 · log2(a) is 0), it is not made (`definedness`), unless it is `formal`. Masks in a monomial select.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import reduce

from argus.check.domain import reduction_footprint as sets
from argus.check.domain.reduction_footprint import FootprintPart, ReducedFootprint, one
from argus.check.solve.limits import spend
from argus.check.terms.atoms import (
    NEUTRAL,
    ONE,
    UNKNOWN,
    ZERO,
    Apply,
    Atom,
    Carried,
    Mono,
    Number,
    Power,
    Reduce,
    Reduction,
    Where,
)
from argus.check.terms.comparisons import COMPARED, chosen, compared
from argus.check.terms.definedness import leaves_something
from argus.check.terms.integer_terms import WRAP
from argus.check.terms.term_arithmetic import TermArithmetic
from argus.check.terms.vanishing_sums import may_leave_a_sum
from argus.layout import expr as E
from argus.layout.expr import Expr

MOST_IN_EXTREME = 64
"""Different terms in one maximum or minimum. The library's kernels have a few; a row's elements carry all of them."""


class Terms(TermArithmetic):
    """The interned terms of one kernel, in normal form."""

    def __init__(self) -> None:
        super().__init__()
        self._apart: dict[tuple[int, int], list[tuple[int, Mono, float]]] = {}
        self._partial: dict[tuple[int, int], list[Mono]] = {}
        self._reductions: dict[tuple[int, int, ReducedFootprint, Expr | None, bool], int] = {}

    def joined(self, op: Reduction, args: list[int]) -> int:
        """One or several terms, reduced."""
        if op in ("max", "min"):
            return self.extreme(op, args)
        return reduce(self.add if op == "sum" else self.multiply, args)

    def extreme(self, fn: Reduction, args: Iterable[int]) -> int:
        """The maximum or minimum: flat, without repetition, reductions of one body put together; UNKNOWN with more than
        `MOST_IN_EXTREME` different ones, which every element of a row would carry along."""
        nothing = NEUTRAL[fn]
        flat: set[int] = set()
        for arg in args:
            if arg == UNKNOWN:
                return UNKNOWN
            atom = self.as_atom(arg)
            inner = atom.args if isinstance(atom, Apply) and atom.fn == fn else (arg,)
            flat.update(a for a in inner if self.value(a) != nothing)
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
        if len(kept) > MOST_IN_EXTREME:
            return UNKNOWN
        if not kept:
            return self.constant(nothing)
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

    def reduce(
        self,
        op: Reduction,
        axis: int,
        body: int,
        items: ReducedFootprint,
        domain: Expr | None = None,
        something: bool = False,
    ) -> int:
        """`op` of the body over the items. From a sum, factors that do not depend on the axis are taken out, but where
        masks may leave nothing (`something`: they do leave something) only those that are defined everywhere."""
        if body == UNKNOWN or (body == ZERO and op != "prod"):
            return body
        if op == "prod" and axis not in self.axes(body):
            return ONE if body == ONE else UNKNOWN  # a power, of as many factors as there are coordinates
        if op != "sum":
            self.multiplies |= op == "prod"
            return self.atom(Reduce(op, axis, body, items, domain)) if axis in self.axes(body) else body
        key = axis, body, items, domain, something
        found = self._reductions.get(key)
        if found is None:
            found = self._reductions[key] = self._sum(axis, body, items, domain, something)
        return found

    def _sum(self, axis: int, body: int, items: ReducedFootprint, domain: Expr | None, something: bool) -> int:
        kept = [] if something else self._waiting(axis, body, items, domain)
        monomials = self._taken_apart(axis, body) if not kept else self._apart_but(axis, body, kept)
        spend(len(monomials))
        made = [
            (self._times(outer, self._power(Reduce("sum", axis, core, items, domain), 2)), c)
            for core, outer, c in monomials
        ]
        openings = [(opening, c) for mono, c in made for opening, _ in self._openings(mono)]
        if len(parts := dict(made)) == len(made) and len(set(openings)) == len(openings):
            return self.made(parts)  # no two of them can be put together
        return reduce(self.add, (self.monomial(mono, c) for mono, c in made), ZERO)

    def _taken_apart(self, axis: int, body: int) -> list[tuple[int, Mono, float]]:
        """The monomials of a body that is summed along an axis: what depends on it as a term, what does not, and the
        coefficient."""
        key = axis, body
        if key not in self._apart:
            self._apart[key] = self._apart_but(axis, body, [])
        return self._apart[key]

    def _apart_but(self, axis: int, body: int, kept: list[Mono]) -> list[tuple[int, Mono, float]]:
        """The same, with what may be undefined left inside of monomials `kept`: of nothing they are 0."""
        found = []
        for mono, c in self._polys[body]:
            (inner, within), (outer, without) = self._inner_and_outer(axis, mono)
            if mono in kept:
                inner = tuple(f for f in mono[0] if f in inner or not self.total_factor(f))
                outer = tuple(f for f in outer if f not in inner)
                within, without = (within, without) if self.total(without, shown=True) else (mono[1], ZERO)
            found.append((self._intern((((inner, within), 1),)), (outer, without), c))
        return found

    def _inner_and_outer(self, axis: int, mono: Mono) -> tuple[Mono, Mono]:
        """What depends on an axis, and what does not."""
        factors, exponent = mono
        inner = tuple(f for f in factors if axis in self.atom_axes(self.atoms[f[0]]))
        outer = tuple(f for f in factors if f not in inner)
        within, without = self._split(exponent, axis)
        if not may_leave_a_sum(self, within, without):
            within, without = exponent, ZERO
        return (inner, within), (outer, without)

    def _waiting(self, axis: int, body: int, items: ReducedFootprint, domain: Expr | None) -> list[Mono]:
        """Monomials of a summed body with something that may be undefined and does not depend on the axis, where the
        masks may leave nothing. Sums of registers, which have finite parts, may be less defined than what they stand
        for, but must be so alike, wherever their parts lie: they are asked as if they began at the axis's first
        coordinate."""
        partial = self._partial_outside(axis, body)
        if not partial:
            return []
        finite = domain is None and all(isinstance(item, FootprintPart) for item in items)
        asked = one(E.const(0), 0) if finite else items
        return [m for m in partial if not leaves_something(self.conditions(m), axis, asked, domain)]

    def kept_inside(self, axis: int, body: int, domain: Expr) -> list[list[Expr]]:
        """Masks of those monomials of a summed body that wait for being shown to leave something."""
        return [self.conditions(mono) for mono in self._waiting(axis, body, (), domain)]

    def _partial_outside(self, axis: int, body: int) -> list[Mono]:
        """Monomials with something that may be undefined and does not depend on the axis."""
        key = axis, body
        if key not in self._partial:
            self._partial[key] = []
            for mono, _ in self._polys[body]:
                _, (outer, without) = self._inner_and_outer(axis, mono)
                if not (all(self.total_factor(f) for f in outer) and self.total(without, shown=True)):
                    self._partial[key].append(mono)
        return self._partial[key]

    def conditions(self, mono: Mono) -> list[Expr]:
        """The masks of a product."""
        return [atom.condition for n, _ in self.masks(mono[0]) if isinstance(atom := self.atoms[n], Where)]

    def _split(self, term: int, axis: int) -> tuple[int, int]:
        """The monomials that depend on the axis, and the others."""
        within: dict[Mono, float] = {}
        without: dict[Mono, float] = {}
        for mono, c in self._polys[term]:
            depends = axis in self.axes(self._intern(((mono, 1),)))
            (within if depends else without)[mono] = c
        return self.made(within), self.made(without)

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
                    if not items and atom.domain is None:
                        return self._over_nothing(atom.op)
                    return self.reduce(atom.op, atom.axis, self.rewritten(atom.body, change, memo), items, atom.domain)
                case Carried(counter=Expr() as counter):
                    around = tuple(e.subst(mapping) for e in atom.around)
                    return self.atom(replace(atom, counter=counter.subst(mapping), around=around))
                case _:
                    return None

        return self.rewritten(term, change, memo)

    def _over_nothing(self, op: Reduction) -> int:
        return self.constant(NEUTRAL[op])
