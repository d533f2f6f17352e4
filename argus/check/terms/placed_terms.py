"""A term at one place: own coordinates replaced by where the element really is.

    x[n] + x[n + 1] of the element n = 256*b + 9       sum(X, n in {256*b + 9, 256*b + 10})
                                                       X(256*b + 9) + X(256*b + 10)
    sum(X, n in {32*kt + 5, kt < turns})               the same, with a bound variable of a fixed name

Own coordinates say that all leaves of a term stand at the same place. Where a specification looks at several places of
one axis, or at a computed one, both sides are compared without them: every leaf says itself where it is. Reductions
over a few coordinates are written out; those that loops repeat stay, counted from zero in steps of one. A reduction
over a whole axis keeps the own coordinate it binds.

What a loop carries has no such form (UNKNOWN).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from argus.check.domain.reduction_footprint import FootprintPart, Over, ReducedFootprint, substituted
from argus.check.terms.atoms import UNKNOWN, Atom, Carried, Coordinate, Leaf, Number, Reduce, Where, axes_in, own
from argus.check.terms.normal_form import Terms
from argus.layout import expr as E
from argus.layout.expr import Expr

WRITTEN_OUT = 32
"""Coordinates up to which a reduction is written out."""


def at_place(terms: Terms, term: int, coordinates: Mapping[int, Expr]) -> int:
    """The term with the own coordinate on each of these axes replaced by an expression without own coordinates."""
    mapping: dict[Expr, Expr | int] = {own(axis): where for axis, where in coordinates.items()}
    memo: dict[int, int] = {}

    def change(atom: Atom) -> int | None:
        match atom:
            case Leaf(tensor=tensor, axes=axes, at=at):
                if not any(axis in coordinates for axis in axes):
                    return None
                places = tuple(place.subst(mapping) for place in at or map(own, axes))
                used = dict.fromkeys(axis for place in places for axis in sorted(axes_in(place)))
                return terms.atom(Leaf(tensor, tuple(used), places))
            case Coordinate(axis=axis) if axis in coordinates:
                where = coordinates[axis]
                return terms.constant(where.value) if where.op == "const" else terms.atom(Number(where))
            case Where(condition=condition, yes=yes, no=no):
                inner = terms.rewritten(yes, change, memo), terms.rewritten(no, change, memo)
                return terms.where(condition.subst(mapping), *inner)
            case Reduce(axis=axis):
                outer = {a: where for a, where in coordinates.items() if a != axis}
                return _reduction(terms, atom, at_place(terms, atom.body, outer))
            case Carried():
                return UNKNOWN
            case _:
                return None

    return terms.rewritten(term, change, memo)


def _reduction(terms: Terms, atom: Reduce, body: int) -> int:
    if atom.domain is not None:
        return terms.reduce(atom.op, atom.axis, body, (), atom.domain)
    parts = [item for item in atom.footprint if isinstance(item, FootprintPart)]
    if len(parts) < len(atom.footprint) or sum(part.mask.bit_count() for part in parts) > WRITTEN_OUT:
        return terms.reduce(atom.op, atom.axis, body, counted(atom.footprint))
    found = [at_place(terms, body, {atom.axis: where}) for part in parts for where in _coordinates(part)]
    if UNKNOWN in found:
        return UNKNOWN
    return terms.joined(atom.op, found)


def _coordinates(part: FootprintPart) -> list[Expr]:
    return [part.rest + offset for offset in part.offsets()]


def counted(items: ReducedFootprint, depth: int = 0) -> ReducedFootprint:
    """The same coordinates, each loop counted from zero in steps of one by a variable named after its depth."""
    made: list[FootprintPart | Over] = []
    for item in items:
        if isinstance(item, FootprintPart) or item.lo.free() & _bound(item.items):
            made.append(item)
            continue
        turn = E.var(f"turn_taken_{depth}", 0)
        inner = substituted(item.items, {item.var: item.lo + item.step * turn})
        turns = (item.hi - item.lo + (item.step - 1)) // item.step
        made.append(Over(turn, E.const(0), turns, 1, counted(inner, depth + 1)))
    return tuple(made)


def in_steps(items: ReducedFootprint, start: Expr, stride: int) -> ReducedFootprint | None:
    """The coordinates start + stride * n as the numbers n; None where that cannot be read off."""
    made: list[FootprintPart | Over] = []
    for item in items:
        if isinstance(item, Over):
            inner = in_steps(item.items, start, stride)
            if inner is None or start.free() & {item.var}:
                return None
            made.append(Over(item.var, item.lo, item.hi, item.step, inner))
            continue
        for where in _coordinates(item):
            parts, constant = E.linear(where - start)
            if constant % stride or any(k % stride for k in parts.values()):
                return None
            rest = reduce(lambda total, part: total + part[1] // stride * part[0], parts.items(), E.const(0))
            made.append(FootprintPart(rest, constant // stride, 1))
    return tuple(made)


def progression(items: ReducedFootprint) -> tuple[Expr, int, Expr] | None:
    """(start, stride, count) of one loop, counted from zero, over coordinates start + stride * turn; else None."""
    if len(items) != 1 or not isinstance(items[0], Over) or len(items[0].items) != 1:
        return None
    loop, part = items[0], items[0].items[0]
    if isinstance(part, Over) or part.mask != 1 or loop.lo is not E.const(0) or loop.step != 1:
        return None
    start = (part.rest + part.low).subst({loop.var: 0})
    stride = part.rest + part.low - start
    factor = E.linear(stride)[0].get(loop.var, 0)
    return (start, factor, loop.hi) if factor > 0 and stride is factor * loop.var else None


def _bound(items: ReducedFootprint) -> frozenset[Expr]:
    """Variables of the loops inside."""
    loops = [item for item in items if isinstance(item, Over)]
    return frozenset[Expr]().union(*({loop.var} | _bound(loop.items) for loop in loops))
