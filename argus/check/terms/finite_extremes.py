"""Maxima and minima that are finite where an element is stored, by what is known there.

A maximum of nothing is -inf, so `0 * t` and `t - t` stay as `zero times(t)` in a term (`definedness`). Where the facts
of a store show that something goes into t, that is 0:

    t = max(where(k <= q + Sk - Sq, s, -inf), k)        Sk >= Sq: k = 0 is among them
    where(new - old > 8, new, old)                      finite if both are
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from argus.check.domain.reduction_footprint import certain_parts
from argus.check.terms.atoms import NEUTRAL, Apply, Atom, Carried, Reduce, Where, own
from argus.check.terms.normal_form import Terms
from argus.layout import expr as E
from argus.layout.expr import Expr


@dataclass(frozen=True, slots=True)
class KnownThere:
    """What is known where an element is stored: conditions, and of slots of loops (`elementwise_terms.Standing`)."""

    holds: Callable[[Expr], bool]
    never: Set[tuple[int, int]]
    settled: Set[tuple[int, int]]
    first: Mapping[int, Expr]


def finite(terms: Terms, term: int, known: KnownThere) -> bool:
    """Every part of a term that may be infinite is an extreme of something."""
    return all(
        terms.total(exponent, shown=True)
        and all(terms.total_factor(f) or (f[1] == 2 and _extreme(terms, terms.atoms[f[0]], known)) for f in factors)
        for (factors, exponent), _ in terms[term]
    )


def _extreme(terms: Terms, atom: Atom, known: KnownThere) -> bool:
    match atom:
        case Apply(fn="select", args=(_, yes, no)):
            return finite(terms, yes, known) and finite(terms, no, known)
        case Apply(fn="max", args=args):
            return any(finite(terms, arg, known) for arg in args) and all(_not_high(terms, arg, known) for arg in args)
        case Apply(fn="min", args=args):
            return all(finite(terms, arg, known) for arg in args)
        case Reduce(op="max" | "min") as reduced:
            return _of_something(terms, reduced, known.holds)
        case Carried(kind="top", counter=Expr() as counter, loop=loop, slot=slot):
            later = (loop, slot) in known.settled and loop in known.first
            return (loop, slot) in known.never or (later and known.holds(counter.gt(known.first[loop])))
        case _:
            return False


def _not_high(terms: Terms, term: int, known: KnownThere) -> bool:
    """Finite, or at worst a maximum of nothing."""
    match terms.as_atom(term):
        case Reduce(op="max") | Carried(kind="top"):
            return terms.total(term, shown=True)
        case Apply(fn="select", args=(_, yes, no)):
            return _not_high(terms, yes, known) and _not_high(terms, no, known)
        case Apply(fn="max", args=args):
            return all(_not_high(terms, arg, known) for arg in args)
        case _:
            return finite(terms, term, known)


def _of_something(terms: Terms, atom: Reduce, holds: Callable[[Expr], bool]) -> bool:
    """A coordinate is taken for certain, and no mask takes it away."""
    inner, here = terms.as_atom(atom.body), own(atom.axis)
    masked = isinstance(inner, Where) and terms.value(inner.no) == NEUTRAL[atom.op]
    body = inner.yes if isinstance(inner, Where) and masked else atom.body
    masks = [inner.condition] if isinstance(inner, Where) and masked else []
    if not terms.total(body, shown=True):
        return False
    if atom.domain is not None:
        masks.append(atom.domain)
        places = [E.const(0), *(end for mask in masks for part in conjuncts(mask) for end in ends(part, here))]
    else:
        parts = certain_parts(atom.footprint, holds)
        places = [part.rest + (part.low + at) for part in parts for at in (0, part.mask.bit_length() - 1)]
    return any(holds(E.land(*masks).subst({here: place})) for place in places)


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    return condition.args if condition.op == "land" else (condition,)


def ends(condition: Expr, here: Expr) -> list[Expr]:
    """Where `here` is at the edge of a condition x <= y that it stands in plainly."""
    if condition.op != "le":
        return []
    parts, _ = E.linear(condition.args[0] - condition.args[1])
    sign = parts.get(here, 0)
    return [here - sign * (condition.args[0] - condition.args[1])] if sign in (1, -1) else []
