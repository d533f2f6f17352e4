"""Maxima and minima that are finite where something stands, by what is known there.

A maximum of nothing is -inf, so `0 * t` and `t - t` stay as `zero times(t)` in a term (`definedness`). Where the facts
of a store show that something goes into t, and that what goes in is finite, that is 0:

    t = max(where(k <= q + Sk - Sq, s, -inf), k)        Sk >= Sq: k = 0 is among them
    where(new - old > 8, new, old)                      finite if both are
    max(where(k < N, x - u, -inf), k)                   only if u is: of u = -inf it is +inf

The same is asked before an exponential is taken apart (`elementwise_terms.exponential`), but for poles: 2**(x/d - T)
has none of its own, and where d is 0 the term is undefined before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import assert_never

from argus.check.domain.reduction_footprint import certain_parts
from argus.check.terms.atoms import (
    UNKNOWN,
    Apply,
    Atom,
    Carried,
    Coordinate,
    Leaf,
    Number,
    Power,
    Reduce,
    Where,
    own,
)
from argus.check.terms.definedness import defined_everywhere
from argus.check.terms.normal_form import Terms
from argus.layout import expr as E
from argus.layout.expr import Expr


@dataclass(frozen=True, slots=True)
class KnownThere:
    """What is known where an element stands: conditions, and of slots of loops (`elementwise_terms.Standing`)."""

    holds: Callable[[Expr], bool]
    never: Set[tuple[int, int]]
    settled: Set[tuple[int, int]]
    first: Mapping[int, Expr]


NOTHING_KNOWN = KnownThere(lambda goal: goal is E.TRUE, frozenset(), frozenset(), {})


@dataclass(frozen=True, slots=True)
class Finiteness:
    """Whether terms are finite. `poles`: but for the poles of functions, of which others take care."""

    terms: Terms
    known: KnownThere
    poles: bool = False

    def finite(self, term: int) -> bool:
        """Every part of a term that may be infinite is an extreme of something finite."""
        return term != UNKNOWN and all(
            isfinite(c)
            and (self.poles or self.terms.total(exponent, shown=True))
            and all(self._factor(*f) for f in factors)
            for (factors, exponent), c in self.terms[term]
        )

    def not_high(self, term: int) -> bool:
        """Finite, or -inf: a mask, or a maximum of nothing; what goes into maxima is finite."""
        if term == UNKNOWN or self.terms.value(term) == -inf:
            return term != UNKNOWN
        match self.terms.as_atom(term):
            case Reduce(op="max") as reduced:
                return self._inside(reduced).finite(self.terms.taken(reduced)[0])
            case Carried(kind="top"):  # shown of its name (`carried_terms`)
                return True
            case Apply(fn="select", args=(_, yes, no)):
                return self.not_high(yes) and self.not_high(no)
            case Apply(fn="max", args=args):
                return all(map(self.not_high, args))
            case Where(yes=yes, no=no):
                return self.not_high(yes) and self.not_high(no)
            case _:
                return self.finite(term)

    def _factor(self, number: int, twice: int) -> bool:
        if not self.poles:
            if self.terms.total_factor((number, twice)):
                return True
            if twice < 0 or twice % 2:
                return False
        return self._atom(self.terms.atoms[number])

    def _atom(self, atom: Atom) -> bool:
        match atom:
            case Leaf() | Number() | Coordinate():
                return True
            case Apply(fn="select", args=(_, yes, no)):
                return self.finite(yes) and self.finite(no)
            case Apply(fn="max", args=args):
                return any(map(self.finite, args)) and all(map(self.not_high, args))
            case Apply(fn=fn, args=args):
                return (self.poles or defined_everywhere(fn)) and all(map(self.finite, args))
            case Power(base=base):
                return self.poles and self.finite(base)
            case Where(yes=yes, no=no):
                return self.finite(yes) and self.finite(no)
            case Reduce(op="max" | "min") as reduced:
                return self._of_something(reduced)
            case Reduce(body=body) as reduced:
                return self._inside(reduced).finite(body)
            case Carried(kind="top", counter=Expr() as counter, loop=loop, slot=slot):
                known = self.known
                later = (loop, slot) in known.settled and loop in known.first
                return (loop, slot) in known.never or (later and known.holds(counter.gt(known.first[loop])))
            case Carried(kind=kind):
                return kind == "positive"
            case _:
                assert_never(atom)

    def _inside(self, reduced: Reduce) -> Finiteness:
        """Of what is reduced: its coordinate is any, not that of the element that stands here."""
        outer, here = self.known.holds, own(reduced.axis)
        return replace(self, known=replace(self.known, holds=lambda goal: here not in goal.free() and outer(goal)))

    def _of_something(self, atom: Reduce) -> bool:
        """A coordinate is taken for certain, no mask takes it away, and everything that is taken is finite."""
        body, masks = self.terms.taken(atom)
        here = own(atom.axis)
        if not self._inside(atom).finite(body):
            return False
        if atom.domain is not None:
            masks.append(atom.domain)
            places = [E.const(0), *(end for mask in masks for part in conjuncts(mask) for end in ends(part, here))]
        else:
            parts = certain_parts(atom.footprint, self.known.holds)
            places = [part.rest + (part.low + at) for part in parts for at in (0, part.mask.bit_length() - 1)]
        return any(self.known.holds(E.land(*masks).subst({here: place})) for place in places)


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    return condition.args if condition.op == "land" else (condition,)


def ends(condition: Expr, here: Expr) -> list[Expr]:
    """Where `here` is at the edge of a condition x <= y that it stands in plainly."""
    if condition.op != "le":
        return []
    parts, _ = E.linear(condition.args[0] - condition.args[1])
    sign = parts.get(here, 0)
    return [here - sign * (condition.args[0] - condition.args[1])] if sign in (1, -1) else []
