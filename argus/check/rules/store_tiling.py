"""Boxes that tile a tensor: along each axis the start of a box is a number in mixed radix, its digits counters.

    start = 1024*b + 8192*j          boxes of 1024, b < 8, j < (T - b + 7) // 8
      digits   b: 8 values, 1024 apart (the width of a box); j: 8*1024 apart, so the boxes of all b lie between
      reach    1024*b + 8192*((T - b + 7) // 8) >= N for every b: the first box that is not stored lies outside

So every element inside the tensor lies in exactly one box: its digits are read off from the lowest to the highest, and
each digit takes all values below the next one, or leaves out only boxes outside; so does the highest. How often a
counter runs may depend on blocks and on loops around it. No counter is a digit twice; one that is no digit takes one
value. By induction from the outermost counter in: a value that is left out though the counters around it are in their
ranges belongs to a box outside.

A condition on the path of a store must be false only where its own elements lie outside (`harmless`). Several groups of
boxes (`joined`: a loop and what is stored after it; tile v and tile n - 1 - v) each take an interval of one axis, and
these join up from 0 to the end. What has another form is left to the caller: blocks that are remapped, ends by data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from argus.check.rules.store_turns import Counts, StoreBox
from argus.check.walk import KernelWalk
from argus.ir.ops import Tensor
from argus.layout import expr as E
from argus.layout.expr import Expr

REMAPPED = "blocks are remapped"
DIFFERENT = "its stores start at different symbolic places"
NO_BOX = "what one workgroup writes is not a full box"
MAX_DIGITS = 4
MAX_BOX = 1 << 26
"""Offsets of one box that are counted."""


@dataclass(frozen=True, slots=True)
class Digits:
    """An axis's start: `base` plus the counters from the lowest digit to the highest, each times its weight."""

    base: Expr
    counters: tuple[Expr, ...]
    weights: tuple[Expr, ...]
    mirrored: frozenset[Expr] = frozenset()
    """Counters that run downwards, seen from their other end."""
    partial: frozenset[Expr] = frozenset()
    """Digits but the highest that leave out values."""


def full_box(offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[int]] | None:
    """The smallest offsets and the extents, if every offset between is there exactly once."""
    low = offsets.min(axis=0)
    size = (offsets.max(axis=0) - low + 1).tolist()
    if len(offsets) > MAX_BOX or int(np.prod(size, dtype=object)) != len(offsets):
        return None
    flat = np.ravel_multi_index(tuple((offsets - low).T), size)
    return (low, size) if bool(np.bincount(flat, minlength=len(flat)).all()) else None


def harmless(flow: KernelWalk, tensor: Tensor, box: StoreBox) -> str | None:
    """None when every condition of the store is false only where all its elements lie outside the tensor."""
    outside = _outside(tensor, box)
    for fact in box.conditions:
        if fact is E.TRUE or fact in box.inside:
            continue
        if flow.prover.holds(box.inside, E.lor(fact, *outside)) is not True:
            return f"it is stored only where {fact}"
    return None


def _outside(tensor: Tensor, box: StoreBox) -> list[Expr]:
    low, high = box.offsets.min(axis=0).tolist(), box.offsets.max(axis=0).tolist()
    found = [(start + n).ge(extent) for start, n, extent in zip(box.starts, low, tensor.shape, strict=True)]
    return found + [
        fact for start, n in zip(box.starts, high, strict=True) if (fact := (start + n).lt(0)) is not E.FALSE
    ]


def tiled(
    flow: KernelWalk, axes: tuple[str, ...], shape: list[Expr], counts: Counts, starts: list[Expr], size: list[int]
) -> str | None:
    """None when boxes of this size reach every element exactly once; `REMAPPED` when the form is another one."""
    used: set[Expr] = set()
    for name, extent, start, width in zip(axes, shape, starts, size, strict=True):
        digits = digits_of(flow, counts, start, width, extent)
        if isinstance(digits, str):
            return digits if digits == REMAPPED else f"the boxes on axis {name} {digits}"
        if used & set(digits.counters):
            return REMAPPED
        used |= set(digits.counters)
        if flow.prover.holds((), digits.base.le(0)) is not True:
            return REMAPPED
        if flow.prover.holds(_known(counts, digits), _reach(counts, digits, width).ge(extent)) is not True:
            return f"the boxes on axis {name} may not reach its end"
    return idle(flow, counts, used)


def idle(flow: KernelWalk, counts: Counts, used: set[Expr]) -> str | None:
    """Counters that move nothing must take one value."""
    for counter, count in counts.items():
        if counter not in used and flow.prover.holds((), count.eq(1)) is not True:
            return f"different {counter} write the same elements, or there is none"
    return None


def digits_of(flow: KernelWalk, counts: Counts, start: Expr, width: int, extent: Expr | None = None) -> Digits | str:
    """The start as digits, the lowest `width` apart; or what is wrong with it. With an extent, what digits leave out
    may lie beyond it."""
    moving = [v for v in counts if v in start.free()]
    weights: dict[Expr, Expr] = {}
    mirrored: set[Expr] = set()
    for v in moving:
        weight = _weight(start, v)
        if weight is not None and weight.op == "const" and weight.value < 0:
            start = E.as_expr(start.subst({v: counts[v] - 1 - v}))
            mirrored.add(v)
    for v in moving:
        weight = _weight(start, v)
        if weight is None or weight.free() & counts.keys():
            return REMAPPED
        weights[v] = weight
    base = E.as_expr(start.subst(dict.fromkeys(moving, 0)))
    if base.free() & counts.keys() or len(moving) > MAX_DIGITS:
        return REMAPPED
    for order in permutations(moving):
        digits = Digits(base, order, tuple(weights[v] for v in order), frozenset(mirrored))
        lowest = not order or _equal(flow, digits.weights[0], E.const(width))
        partial = {v for n, v in enumerate(order[:-1]) if not _takes_all(flow, counts, digits, n)}
        if lowest and all(_leaves_outside(flow, counts, digits, order.index(v), extent) for v in partial):
            return replace(digits, partial=frozenset(partial))
    if len(moving) == 1 and weights[moving[0]].op == "const":
        return f"are {width} wide but {weights[moving[0]]} apart"
    return REMAPPED


def _equal(flow: KernelWalk, x: Expr, y: Expr) -> bool:
    return x is y or (not x.op == y.op == "const" and flow.prover.holds((), x.eq(y)) is True)


def _takes_all(flow: KernelWalk, counts: Counts, digits: Digits, n: int) -> bool:
    """Digit n takes all values below the next digit."""
    v, weight, following = digits.counters[n], digits.weights[n], digits.weights[n + 1]
    return not counts[v].free() & counts.keys() and _equal(flow, following, E.as_expr(weight * counts[v]))


def _leaves_outside(flow: KernelWalk, counts: Counts, digits: Digits, n: int, extent: Expr | None) -> bool:
    """The values below the next digit that digit n leaves out lie beyond the end of the axis."""
    v, weight, following = digits.counters[n], digits.weights[n], digits.weights[n + 1]
    around = list(counts)[: list(counts).index(v)]
    higher = digits.counters[n + 1 :]
    if extent is None or weight.op != "const" or any(u not in around for u in higher):
        return False
    values = E.as_expr(following // weight.value)
    known = tuple(u.lt(counts[u]) for u in around)
    reach = digits.base + weight * counts[v]
    for u, k in zip(higher, digits.weights[n + 1 :], strict=True):
        reach = E.as_expr(reach + k * u)
    goals = (values.ge(1), (values * weight).eq(following), counts[v].le(values))
    if any(flow.prover.holds(known, goal) is not True for goal in goals):
        return False
    return flow.prover.holds(known, E.lor(counts[v].eq(values), reach.ge(extent))) is True


def _weight(start: Expr, v: Expr) -> Expr | None:
    """How far one step of v moves the start, wherever v stands; None when that is not always the same."""
    weight = E.as_expr(start.subst({v: v + 1}) - start)
    if v not in weight.free():
        return weight
    parts, _ = E.linear(start)
    factors = [atom for atom in parts if v in atom.free()]
    weight = E.const(0)
    for atom in factors:
        others = [arg for arg in atom.args if arg is not v]
        if atom.op != "mul" or len(others) != len(atom.args) - 1 or any(v in arg.free() for arg in others):
            return None
        one = E.const(parts[atom])
        for arg in others:
            one = E.as_expr(one * arg)
        weight = E.as_expr(weight + one)
    return weight


def _known(counts: Counts, digits: Digits) -> tuple[Expr, ...]:
    """What may be used to show that the highest digit reaches the end: blocks and the loops around the one it counts
    are in their ranges, and so are lower digits that take all values. That it is in its own range is not known: it may
    be empty."""
    if not digits.counters:
        return ()
    return tuple(v.lt(counts[v]) for v in dict.fromkeys((*_around(counts, digits), *_lower(counts, digits))))


def _around(counts: Counts, digits: Digits) -> list[Expr]:
    return list(counts)[: list(counts).index(digits.counters[-1])]


def _lower(counts: Counts, digits: Digits) -> dict[Expr, Expr]:
    """Lower digits that are known to be in their ranges, with their weights; others are at least 0."""
    known = zip(digits.counters[:-1], digits.weights[:-1], strict=True)
    return {v: weight for v, weight in known if v not in digits.partial or v in _around(counts, digits)}


def _reach(counts: Counts, digits: Digits, width: int) -> Expr:
    """Where the first box starts that is not there any more, or a place before it."""
    if not digits.counters:
        return digits.base + width
    reach = digits.base
    for v, weight in _lower(counts, digits).items():
        reach = E.as_expr(reach + weight * v)
    return reach + digits.weights[-1] * counts[digits.counters[-1]]


def joined(flow: KernelWalk, tensor: Tensor, groups: list[list[StoreBox]]) -> str | None:
    """Groups of boxes of one size that differ along one axis, where each takes an interval; on the other axes the
    blocks tile the tensor as if there were one group."""
    boxes = [full_box(np.concatenate([box.offsets for box in group])) for group in groups]
    first = boxes[0]
    if first is None or any(box is None or box[1] != first[1] for box in boxes):
        return NO_BOX
    size = first[1]
    corners = [
        [start + int(low) for start, low in zip(group[0].starts, box[0], strict=True)]
        for group, box in zip(groups, boxes, strict=True)
        if box is not None
    ]
    moved = [n for n in range(len(size)) if len({corner[n] for corner in corners}) > 1]
    if len(moved) != 1:
        return DIFFERENT
    (axis,) = moved
    left: list[tuple[Expr, Expr]] = []
    others: list[Counts] = []
    for group, corner in zip(groups, corners, strict=True):
        span = _span(flow, tensor, group, corner[axis], size[axis])
        if span is None:
            return DIFFERENT
        left.append(span[:2])
        others.append({v: n for v, n in group[0].counts.items() if v not in span[2]})
    if any(other != others[0] for other in others):
        return DIFFERENT
    edge: Expr = E.const(0)
    while left:
        following = next((span for span in left if flow.prover.holds((), span[0].eq(edge)) is True), None)
        if following is None:
            return f"the boxes on axis {tensor.axes[axis]} do not join up"
        left.remove(following)
        edge = following[1]
    if flow.prover.holds((), edge.ge(tensor.shape[axis])) is not True:
        return f"the boxes on axis {tensor.axes[axis]} may not reach its end"
    rest = [n for n in range(len(size)) if n != axis]
    names = tuple(tensor.axes[n] for n in rest)
    shape, starts = [tensor.shape[n] for n in rest], [corners[0][n] for n in rest]
    return tiled(flow, names, shape, others[0], starts, [size[n] for n in rest])


def _span(
    flow: KernelWalk, tensor: Tensor, group: list[StoreBox], start: Expr, width: int
) -> tuple[Expr, Expr, tuple[Expr, ...]] | None:
    """[from, to) that a group takes along the axis, and by which counters; None: it is no interval."""
    counts = dict(group[0].counts)
    if any(box.counts != counts for box in group):
        return None
    digits = digits_of(flow, counts, start, width)
    if isinstance(digits, str):
        return None
    conditions = {
        fact
        for box in group
        for fact in box.conditions
        if fact not in box.inside and flow.prover.holds(box.inside, E.lor(fact, *_outside(tensor, box))) is not True
    }
    if conditions:  # one that says how far the highest digit goes, for all boxes of the group
        if len(conditions) > 1 or not digits.counters or any(not conditions <= set(box.conditions) for box in group):
            return None
        top = digits.counters[-1]
        limit = _limit(conditions.pop(), top)
        if limit is None or flow.prover.holds((), E.land(limit.ge(0), limit.le(counts[top]))) is not True:
            return None
        if top in digits.mirrored:  # its last values, the lowest places, are left out
            digits = replace(digits, base=E.as_expr(digits.base + digits.weights[-1] * (counts[top] - limit)))
        counts[top] = limit
    reach = _reach(counts, digits, width)
    if any(counts[v].free() & counts.keys() for v in digits.counters):
        return None
    whole = reach.subst(dict.fromkeys(digits.counters, 0))
    return digits.base, E.as_expr(whole), digits.counters


def _limit(fact: Expr, v: Expr) -> Expr | None:
    """h, where the fact says v < h and nothing else."""
    if fact.op not in ("lt", "le"):
        return None
    difference = fact.args[0] - fact.args[1]
    k = E.linear(difference)[0].get(v, 0)
    rest = difference - k * v
    if k <= 0 or v in rest.free():
        return None
    return (k - 1 - rest) // k if fact.op == "lt" else -1 * rest // k + 1
