"""Reductions over named axes: first the registers of a thread, then the lanes of its wave.

    s over (Sk, Sq), a lane holds 32 of the 64 keys of one query; s.max("Sk"):
        31 maxima in registers (halving: 32 -> 16 -> ... -> 1), then one exchange with lane ^ 32

Which lanes hold parts of the same result is read off the coordinates: `lane ^ d` is a partner when it agrees on every
axis that stays, in every lane and wave. Lanes that agree on *all* axes hold copies, not parts, and are left alone (a
sum over copies would count them twice).

What it cannot do: parts in different waves. They meet in LDS; an axis spread over waves is an error that says so,
unless the author asks for each wave's own part (`within="wave"`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from argus.ir.kernel import WAVE
from argus.ir.types import Value
from argus.lang import tiles
from argus.lang.context import ReadContext
from argus.lang.distribution import Distribution, DistributionForm
from argus.lang.values import Tile
from argus.layout import expr as E
from argus.layout.expr import Expr

LaneTable = NDArray[np.int64]

MAP_OF = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}


def reduce(ctx: ReadContext, tile: Tile, fn: str, axes: list[str], in_wave: bool = False) -> Tile:
    """Combine all elements that agree on the other axes; `in_wave` takes only those of the same wave."""
    for axis in axes:
        if axis not in tile.dist.axes:
            raise ctx.error("AG407", name=axis, axes=", ".join(tile.dist.axes) or "none", methods=", ".join(MAP_OF))
    if not axes:
        raise ctx.error("AG112", function="a reduction", problem='it needs the name of an axis, such as s.max("Sk")')
    if len(tile.dist.digits) == 0 and not tile.dist.axes:
        return tile
    kept = tuple(a for a in tile.dist.axes if a not in axes)
    groups = _groups(tile.dist, kept)
    sizes = {len(g) for g in groups.values()}
    if len(sizes) != 1:
        raise ctx.error("AG420", axes=", ".join(axes))
    values = _fold_registers(ctx, tile, fn, list(groups.values()))
    for distance in _partners(ctx, tile.dist, axes, in_wave):
        ctx.need_all_lanes("a reduction over lanes")
        moved = ctx.b.lanes(values, E.xor(ctx.lane, E.const(distance)))
        values = ctx.b.map(fn, values, moved)
    rows = [tuple(key) for key in groups]
    digits = (("g", len(rows)),) if len(rows) > 1 else ()
    dist = Distribution(digits, kept, DistributionForm(lambda i: rows[i]), tuple(range(len(rows))))
    return Tile(tile.dtype, dist, (values,))


def _groups(dist: Distribution, kept: tuple[str, ...]) -> dict[tuple[Expr, ...], list[int]]:
    groups: dict[tuple[Expr, ...], list[int]] = {}
    for i in range(dist.count):
        coords = dist.coords(i)
        groups.setdefault(tuple(coords[a] for a in kept), []).append(i)
    return groups


def _fold_registers(ctx: ReadContext, tile: Tile, fn: str, groups: list[list[int]]) -> Value:
    """One value with an element per group, by halving the groups together."""
    items = tiles.elements(tile)
    columns = [[items[i] for i in group] for group in groups]
    while len(columns[0]) > 1:
        half = len(columns[0]) // 2
        left = tiles.collect(ctx, [c for column in columns for c in column[:half]])
        right = tiles.collect(ctx, [c for column in columns for c in column[half : 2 * half]])
        folded = ctx.b.map(fn, left, right)
        columns = [
            [(folded, g * half + i) for i in range(half)] + column[2 * half :] for g, column in enumerate(columns)
        ]
    return tiles.collect(ctx, [column[0] for column in columns])


def _partners(ctx: ReadContext, dist: Distribution, axes: list[str], in_wave: bool) -> list[int]:
    """Distances d such that exchanging with lane ^ d completes the reduction."""
    lanes = np.arange(WAVE)
    kept = tuple(axis for axis in dist.axes if axis not in axes)
    stay, gone = (lane_tables(ctx, dist, some) for some in (kept, axes))
    if not in_wave and bool((gone != gone[:, :1]).any()):
        raise ctx.error("AG421", axes=", ".join(axes))
    reached = {d for d in range(WAVE) if bool((stay == stay[:, :, lanes ^ d]).all())}
    copies = {d for d in reached if bool((gone == gone[:, :, lanes ^ d]).all())}
    together = {stay[:, 0, lane].tobytes() for lane in lanes}
    if len(together) * len(reached) != WAVE:
        raise ctx.error("AG420", axes=", ".join(axes))
    made: list[int] = []
    span = set(copies)
    for d in sorted(reached):
        if d not in span:
            made.append(d)
            span |= {d ^ s for s in span}
    return made


def lane_tables(ctx: ReadContext, dist: Distribution, axes: Sequence[str]) -> LaneTable:
    """The coordinates of every element on some axes, by element, wave, lane and axis."""
    env = {"lane": np.arange(WAVE), "wave": np.arange(ctx.waves)[:, None]}
    made = np.empty((dist.count, ctx.waves, WAVE, len(axes)), dtype=np.int64)
    for i in range(dist.count):
        coords = dist.coords(i)
        for n, axis in enumerate(axes):
            made[i, :, :, n] = E.evaluate(_without_others(coords[axis]), env)
    return made


def _without_others(e: Expr) -> Expr:
    """Offsets by block, loop or size move all elements alike: put the least value (sizes, at least 1, may divide)."""
    return e.subst({v: E.const(v.lo or 0) for v in e.free() if v.name not in ("lane", "wave")})
