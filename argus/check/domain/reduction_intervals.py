"""What a reduction has taken, as intervals.

    {kt*64 + 0..63} for kt in 0..K//64        ->      [0, K//64*64)

Shares of successive iterations must be contiguous blocks, adjacent to each other: then every index is there once. A
loop may walk upwards, each block behind the one before, or downwards:

    {(T - 1 - i)*64 + 0..63} for i in 0..T    ->      [0, T*64)
"""

from __future__ import annotations

from itertools import pairwise

from argus.check.domain.reduction_footprint import FootprintPart, ReducedFootprint, fresh_bound, substituted
from argus.check.walk import KernelWalk
from argus.layout import expr as E
from argus.layout.expr import Expr, linear

Interval = tuple[Expr, Expr]


def intervals(flow: KernelWalk, facts: tuple[Expr, ...], items: ReducedFootprint, axis: int) -> list[Interval] | str:
    """The indices as disjoint intervals [from, to), each index once; or why that is not so."""
    by_start: dict[Expr, list[int]] = {}
    result: list[Interval] = []
    for item in items:
        if isinstance(item, FootprintPart):
            by_start.setdefault(item.rest, []).extend(item.offsets())
    for rest, offsets in by_start.items():
        ordered = sorted(offsets)
        if len(set(ordered)) != len(ordered):
            twice = next(x for x, y in pairwise(ordered) if x == y)
            return f"{flow.tables.axis_names[axis]} {rest + twice} is accumulated twice"
        result += [(rest + first, rest + (last + 1)) for first, last in _runs(ordered)]
    for item in items:
        if not isinstance(item, FootprintPart):
            var = fresh_bound(item.var, (*flow.prover.base, *facts, item.lo, item.hi))
            bound = (*facts, var.ge(item.lo), var.lt(item.hi))
            inner = intervals(flow, bound, substituted(item.items, {item.var: var}), axis)
            if isinstance(inner, str):
                return inner
            whole = joined(flow, bound, inner)
            if len(whole) != 1:
                return "an iteration accumulates several separate ranges"
            start, end = whole[0]
            width = E.as_expr(end - start)
            step = E.as_expr(start.subst({var: var + item.step}) - start)
            upwards = flow.prover.holds(bound, step.eq(width)) is True
            if not (upwards or flow.prover.holds(bound, step.eq(-1 * width)) is True) or var in width.free():
                return f"an iteration accumulates {width} indices but the next one starts {step} further"
            if len(items) > 1 and flow.prover.holds(facts, item.hi.le(item.lo)) is True:
                continue
            first, behind = start.subst({var: item.lo}), start.subst({var: item.hi})
            result.append((first, behind) if upwards else (behind + width, first + width))
    return result


def _runs(ordered: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for value in ordered:
        if runs and runs[-1][1] + 1 == value:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    return runs


def joined(flow: KernelWalk, facts: tuple[Expr, ...], pieces: list[Interval]) -> list[Interval]:
    """Adjacent intervals put together."""
    parts = {bound: linear(bound) for piece in pieces for bound in piece}

    def meet(end: Expr, start: Expr) -> bool:
        (rest, constant), (other, further) = parts[end], parts[start]
        return constant == further if rest == other else flow.prover.holds(facts, end.eq(start)) is True

    result = list(pieces)
    while True:
        pair = next(((x, y) for x in result for y in result if x is not y and meet(x[1], y[0])), None)
        if pair is None:
            return result
        (low, _), (_, high) = pair
        result = [piece for piece in result if piece is not pair[0] and piece is not pair[1]] + [(low, high)]
