"""Stores in loops, seen from counters that run from 0 by 1.

    for t in range(b, T, 8): y[1024*t] = …       t = b + 8*j,  j < (T - b + 7) // 8
    a ring walked by rounds, k = 2*q + r          one store per r: 2*q at offset 0, 2*q at offset 1,  q < (K + 1) // 2

A `StoreBox` is a store with its loop variables replaced by such counters: where its elements start, their offsets, the
conditions of its path in the same counters, and how many values each counter (and block) takes. The stores of a ring's
round differ only in their offsets then, so together they are one larger box; that iteration r of the last round is
still done is a condition like any other, and `store_tiling` shows that it is false only outside the tensor.

Two stores on both sides of one branch that write the same elements are one store without the condition (`either`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from argus.check.events import ProgramPoint
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z
from argus.ir.ops import Op
from argus.layout import expr as E
from argus.layout.expr import Expr

BLOCK = (BLOCK_X, BLOCK_Y, BLOCK_Z)
MAX_SHIFT = 1 << 40
Counts = dict[Expr, Expr]
"""Blocks, then counters of loops from the outermost in: how many values each takes, from 0 on."""


@dataclass(frozen=True, slots=True, eq=False)
class StoreBox:
    """Elements start + offset of a store, for all values of its counters at which the conditions hold."""

    starts: tuple[Expr, ...]
    offsets: NDArray[np.int64]
    counts: Counts
    conditions: tuple[Expr, ...]
    inside: tuple[Expr, ...]
    """What holds in every iteration: counters are in their ranges."""


def store_box(
    flow: KernelWalk, op: Op, place: ProgramPoint, rests: tuple[Expr, ...], offsets: NDArray[np.int64]
) -> StoreBox | None:
    """The store by counters; None when how often one of its loops runs is not known."""
    counts: Counts = dict(zip(BLOCK, flow.kernel.grid, strict=True))
    put: dict[Expr, Expr | int] = {}
    inside: list[Expr] = []
    around = _loops_around(flow.kernel.body, op)
    if around is None or [loop.var for loop in around] != [var for var, _ in place.loops]:
        return None
    for loop, (var, value) in zip(around, place.loops, strict=True):
        lo, hi = loop.lo.subst(put), loop.hi.subst(put)
        found = _by_round(loop, value)
        if found is None:
            return None
        old, stride, ahead = found
        most = None if var.hi is None or var.lo is None else max(0, (var.hi - var.lo) // stride)
        counter = E.var(f"{var.name}_turn_{loop.id}", 0, most)
        if old is not var:
            put[old] = counter
        put[var] = lo + stride * counter + ahead
        counts[counter] = E.maximum(0, (hi - lo + (stride - 1)) // stride)
        inside += [counter.lt(counts[counter]), (lo + stride * counter).lt(hi)]
    conditions = tuple(E.as_expr(fact.subst(put)) for fact in place.facts if not flow.is_stated(fact))
    starts, shifts = [], []
    for rest in rests:
        moved = E.as_expr(rest.subst(put))
        constant = E.linear(moved)[1]
        shifts.append(constant if abs(constant) < MAX_SHIFT else 0)
        starts.append(E.as_expr(moved - shifts[-1]))
    return StoreBox(tuple(starts), offsets + np.array(shifts, dtype=np.int64), counts, conditions, tuple(inside))


def numbered_turns(counts: Counts, starts: list[Expr]) -> tuple[Counts, list[Expr]] | None:
    """Block b of S and turn j of `for t in range(b, T, S)`, seen only as t = b + S*j: these are 0 … T - 1, each once,
    as t % S and t // S say which. One counter of T values takes the place of both. None where there is no such loop."""
    for block, size in counts.items():
        for turn, count in counts.items():
            quotient = next((node for node in (count, *count.args) if node.op == "floordiv"), None)
            if turn is block or size.op != "const" or quotient is None or quotient.args[1] is not size:
                continue
            total = E.as_expr(quotient.args[0] + block - (size.value - 1))
            if count is not E.maximum(0, quotient) or total.free() & counts.keys() or total.lo is None or total.lo < 0:
                continue
            number = E.var(f"{turn.name}_number", 0)
            moved = [E.as_expr(start.subst({block: number - turn * size})) for start in starts]
            others = {v: n for v, n in counts.items() if v not in (block, turn)}
            if not any(e.free() & {block, turn} for e in (*moved, *others.values())):
                return others | {number: total}, moved
    return None


def _by_round(loop: ops.For, value: Expr) -> tuple[Expr, int, int] | None:
    """The variable that counts turns or rounds, the loop's advance from one to the next, and how far this turn is into
    its round: the loop's variable is lo + advance * count + how far."""
    if value is loop.var:
        return loop.var, loop.step, 0
    parts, ahead = E.linear(value - loop.lo)
    if len(parts) != 1:
        return None
    ((count, stride),) = parts.items()
    if count.op != "var" or stride <= 0 or stride % loop.step or not 0 <= ahead < stride or ahead % loop.step:
        return None
    return count, stride, ahead


def _loops_around(block: list[Op], wanted: Op) -> list[ops.For] | None:
    """The loops around an op, the outermost first; None when it is not in the block."""
    for op in block:
        if op is wanted or op.id == wanted.id:
            return []
        for inner in op.blocks:
            found = _loops_around(inner, wanted)
            if found is not None:
                return [op, *found] if isinstance(op, ops.For) else found
    return None


def either(boxes: list[StoreBox]) -> list[StoreBox]:
    """Boxes with the same elements on both sides of a condition are one, without the condition."""
    result: list[StoreBox] = []
    for box in boxes:
        for n, other in enumerate(result):
            rest = _without_choice(box, other)
            if rest is not None:
                result[n] = replace(other, conditions=rest)
                break
        else:
            result.append(box)
    return result if len(result) == len(boxes) else either(result)


def _without_choice(x: StoreBox, y: StoreBox) -> tuple[Expr, ...] | None:
    mine, other = set(x.conditions) - set(y.conditions), set(y.conditions) - set(x.conditions)
    if len(mine) != 1 or len(other) != 1 or x.starts != y.starts or x.counts != y.counts:
        return None
    (one,), (opposite,) = mine, other
    if E.lnot(one) is not opposite or not np.array_equal(_sorted(x.offsets), _sorted(y.offsets)):
        return None
    return tuple(fact for fact in y.conditions if fact is not opposite)


def _sorted(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    return offsets[np.lexsort(offsets.T[::-1])]
