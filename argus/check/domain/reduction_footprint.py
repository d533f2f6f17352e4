"""Which coordinates of an axis a reduction has taken: finite parts, and parts repeated by loops.

    x[n] + x[n + 256] in lane 9, rows of 1024      FootprintPart(rest=0, low=36, mask=...)     bits of `mask` count
    from `low` the same for every tile j' < j of a long row   Repeat(j', 0, j, 1, (FootprintPart(rest=j'*1024, ...),))

A collection of items is a multiset: for a sum every item counts as often as it stands there, for a maximum that does
not matter. Parts with the same symbolic rest are kept as one when they have no coordinate in common, so that the usual
ways to reduce a row (registers, lane exchange, LDS) end in one part with all bits set. Parts further apart than
`MAX_SPAN` stay two: x[i] + x[i + 2**30] is not a mask of 2**30 bits. What the items mean as intervals is decided in
`reduced`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from argus.layout import expr as E
from argus.layout.expr import Expr, linear

MAX_SPAN = 1 << 16
"""Coordinates from the first to the last of one part: the bits of its mask."""


class FootprintPart(NamedTuple):
    """The coordinates rest + low + i for every set bit i of `mask`; bit 0 is set."""

    rest: Expr
    low: int
    mask: int

    def offsets(self) -> list[int]:
        """The coordinates beyond `rest`."""
        return [self.low + bit for bit in range(self.mask.bit_length()) if self.mask >> bit & 1]


@dataclass(frozen=True, slots=True)
class Over:
    """`items` taken once for each value of `var` in range(lo, hi, step)."""

    var: Expr
    lo: Expr
    hi: Expr
    step: int
    items: ReducedFootprint


ReducedFootprint = tuple["FootprintPart | Over", ...]


def one(rest: Expr, offset: int) -> ReducedFootprint:
    return (FootprintPart(rest, offset, 1),)


def several(rest: Expr, offsets: tuple[int, ...]) -> ReducedFootprint:
    """The coordinates rest + offset; an offset that occurs twice makes two parts."""
    low, mask = min(offsets), 0
    if max(offsets) - low >= MAX_SPAN:
        near = tuple(offset for offset in offsets if offset - low < MAX_SPAN)
        far = tuple(offset for offset in offsets if offset - low >= MAX_SPAN)
        return union(several(rest, near), several(rest, far), twice=True)
    for offset in offsets:
        if mask >> (offset - low) & 1:
            more = list(offsets)
            more.remove(offset)
            return union(several(rest, tuple(more)), one(rest, offset), twice=True)
        mask |= 1 << (offset - low)
    return (FootprintPart(rest, low, mask),)


def union(x: ReducedFootprint, y: ReducedFootprint, *, twice: bool) -> ReducedFootprint:
    """Both together. With `twice`, what is in both counts two times."""
    parts = [item for item in x if isinstance(item, FootprintPart)]
    loops = [item for item in x if isinstance(item, Over)]
    for item in y:
        if isinstance(item, Over):
            _add_loop(loops, item, twice)
            continue
        for n, part in enumerate(parts):
            joined = _joined(part, item, twice) if part.rest is item.rest else None
            if joined is not None:
                parts[n] = joined
                break
        else:
            parts.append(item)
    parts.sort(key=lambda part: (part.rest.digest, part.low, part.mask))
    loops.sort(key=lambda item: (item.var.digest, item.lo.digest, item.hi.digest))
    return (*parts, *loops)


def _add_loop(loops: list[Over], item: Over, twice: bool) -> None:
    """Loops over the same iterations are one."""
    for n, other in enumerate(loops):
        if (other.var, other.lo, other.hi, other.step) == (item.var, item.lo, item.hi, item.step):
            both = union(other.items, item.items, twice=twice)
            loops[n] = Over(item.var, item.lo, item.hi, item.step, both)
            return
    loops.append(item)


def _joined(x: FootprintPart, y: FootprintPart, twice: bool) -> FootprintPart | None:
    low = min(x.low, y.low)
    if max(x.low + x.mask.bit_length(), y.low + y.mask.bit_length()) - low > MAX_SPAN:
        return None
    left, right = x.mask << (x.low - low), y.mask << (y.low - low)
    return None if twice and left & right else FootprintPart(x.rest, low, left | right)


def substituted(items: ReducedFootprint, mapping: Mapping[Expr, Expr | int]) -> ReducedFootprint:
    """The items with variables replaced; a loop's own variable is its own. Loops that do not run disappear."""
    result: ReducedFootprint = ()
    for item in items:
        if isinstance(item, FootprintPart):
            rest = item.rest.subst(mapping)
            constant = linear(rest)[1]
            made: FootprintPart | Over = FootprintPart(rest - constant, item.low + constant, item.mask)
        else:
            inner = {k: v for k, v in mapping.items() if k is not item.var}
            lo, hi = item.lo.subst(mapping), item.hi.subst(mapping)
            if lo is hi:
                continue
            made = Over(item.var, lo, hi, item.step, substituted(item.items, inner))
        result = union(result, (made,), twice=True)
    return result


def certain_parts(items: ReducedFootprint, holds: Callable[[Expr], bool]) -> list[FootprintPart]:
    """Parts that were taken for certain: of loops that run, those of the first iteration."""
    found: list[FootprintPart] = []
    for item in items:
        if isinstance(item, FootprintPart):
            found.append(item)
        elif holds(item.lo.lt(item.hi)):
            found += certain_parts(substituted(item.items, {item.var: item.lo}), holds)
    return found


def fresh_bound(variable: Expr, known: Iterable[Expr]) -> Expr:
    """A bound variable under a name that nothing known speaks of: inside a loop its own variable is free, and what a
    sum has taken is bound by the same one."""
    spoken = {free.name for fact in known for free in fact.free()}
    if variable.name not in spoken:
        return variable
    name = next(name for n in count(1) if (name := f"{variable.name}_taken_{n}") not in spoken)
    return E.var(name, variable.lo, variable.hi)


def contains(items: ReducedFootprint, others: ReducedFootprint) -> bool:
    """Every one of the others is among the items, as far as that can be read off."""
    return all(other in items or any(_holds(item, other) for item in items) for other in others)


def _holds(item: FootprintPart | Over, other: FootprintPart | Over) -> bool:
    if (
        not (isinstance(item, FootprintPart) and isinstance(other, FootprintPart))
        or item.rest is not other.rest
        or other.low < item.low
    ):
        return False
    if other.low - item.low >= item.mask.bit_length():
        return False
    bits = other.mask << (other.low - item.low)
    return item.mask & bits == bits


def variables(items: ReducedFootprint) -> frozenset[Expr]:
    """Free variables."""
    found: frozenset[Expr] = frozenset()
    for item in items:
        if isinstance(item, FootprintPart):
            found |= item.rest.free()
        else:
            found |= item.lo.free() | item.hi.free() | (variables(item.items) - {item.var})
    return found


def folded(items: ReducedFootprint, counter: Expr, stride: int) -> ReducedFootprint:
    """A loop up to `counter` and what iteration `counter` took: a loop up to and including it."""
    for n, item in enumerate(items):
        if not (isinstance(item, Over) and item.var is counter and item.hi is counter):
            continue
        rest = (*items[:n], *items[n + 1 :])
        left = _without(rest, item.items)
        if left is not None:
            longer = Over(item.var, item.lo, counter + stride, item.step, item.items)
            return union(left, (longer,), twice=True)
    return items


def _without(items: ReducedFootprint, footprint: ReducedFootprint) -> ReducedFootprint | None:
    """The items that remain when `reduction_footprint` is removed; None if it is not among them."""
    left = list(items)
    for item in footprint:
        if item in left:
            left.remove(item)
            continue
        if isinstance(item, Over):
            return None
        for n, part in enumerate(left):
            if isinstance(part, FootprintPart) and _holds(part, item):
                bits = item.mask << (item.low - part.low)
                left[n : n + 1] = _normal(part.rest, part.low, part.mask & ~bits)
                break
        else:
            return None
    return tuple(left)


def _normal(rest: Expr, low: int, mask: int) -> list[FootprintPart]:
    if not mask:
        return []
    shift = (mask & -mask).bit_length() - 1
    return [FootprintPart(rest, low + shift, mask >> shift)]
