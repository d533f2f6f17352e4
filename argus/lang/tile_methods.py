"""Methods of register tiles: conversion, picking registers, order of digits, reductions, scans, exchange of lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.lang import arguments as want
from argus.lang import convert, memory, reduce, scan, tiles
from argus.lang.invoke import Call
from argus.lang.values import Tile

if TYPE_CHECKING:
    from argus.lang.expressions import Expressions


def to(
    interp: Expressions,
    tile: Tile,
    dtype: object,
    rounding: object = "rne",
    saturate: object = False,
    finite: object = False,
) -> object:
    ctx = interp.ctx
    return convert.convert(
        ctx,
        tile,
        want.dtype(ctx, "to", "dtype", dtype),
        want.text(ctx, "to", "rounding", rounding),
        want.flag(ctx, "to", "saturate", saturate),
        want.flag(ctx, "to", "finite", finite),
    )


def bitcast(interp: Expressions, tile: Tile, dtype: object) -> object:
    return convert.bitcast(interp.ctx, tile, want.dtype(interp.ctx, "bitcast", "dtype", dtype))


def regs(interp: Expressions, tile: Tile, start: object, count: object) -> object:
    """A run of elements along the last digit (all of them when the tile has only one)."""
    ctx = interp.ctx
    if not tile.dist.digits:
        raise ctx.error("AG403", problem="it has no registers to choose from", shape="a single element")
    name, extent = tile.dist.digits[-1]
    n = want.integer(ctx, "regs", "count", count, 1, extent)
    first = want.integer(ctx, "regs", "start", start, 0, extent - n)
    rows = tile.count // extent
    chosen = [row * extent + first + i for row in range(rows) for i in range(n)]
    dist = tile.dist.part((*tile.dist.digits[:-1], (name, n)), tuple(chosen))
    return tiles.pick(ctx, tile, dist, chosen)


def order(interp: Expressions, tile: Tile, *names: object) -> object:
    """The same elements with the register digits in another order; the last one named runs fastest."""
    ctx = interp.ctx
    wanted = [want.text(ctx, "order", "a digit", n) for n in names]
    have = [n for n, _ in tile.dist.digits]
    if sorted(wanted) != sorted(have) or len(set(have)) != len(have):
        raise ctx.error("AG419", wanted=", ".join(wanted), have=", ".join(have) or "none")
    extents = [n for _, n in tile.dist.digits]
    strides = [1] * len(have)
    for i in range(len(have) - 2, -1, -1):
        strides[i] = strides[i + 1] * extents[i + 1]
    chosen = [0]
    for name in wanted:
        at = have.index(name)
        chosen = [c + i * strides[at] for c in chosen for i in range(extents[at])]
    digits = tuple((name, extents[have.index(name)]) for name in wanted)
    return tiles.pick(ctx, tile, tile.dist.part(digits, tuple(chosen)), chosen)


def without(interp: Expressions, tile: Tile, *names: object) -> object:
    """The tile without some axes (all, if none is named): their place is given another way, as for a gathered row."""
    ctx = interp.ctx
    gone = [want.text(ctx, "without", "an axis", n) for n in names] or list(tile.dist.axes)
    for name in gone:
        if name not in tile.dist.axes:
            raise ctx.error("AG407", name=name, axes=", ".join(tile.dist.axes) or "none", methods=", ".join(TILE))
    return Tile(tile.dtype, tile.dist.without(gone), tile.pieces)


def held_as(interp: Expressions, tile: Tile, owner: object, tiles: object = None) -> object:
    """The same registers with the coordinates of an owner, in register order."""
    ctx = interp.ctx
    dist = want.distribution(ctx, "held_as", owner, tiles)
    if dist.count != tile.count:
        raise ctx.error("AG402", left=f"an owner of {dist.count} elements per thread", right=f"a tile of {tile.count}")
    return Tile(tile.dtype, dist, tile.pieces)


def from_lane(interp: Expressions, tile: Tile, source: object) -> object:
    """What lane `source` of the wave holds, e.g. x.from_lane(ag.lane() ^ 1). Coordinates are those of the source."""
    ctx = interp.ctx
    where = want.index(ctx, "from_lane", "source", source)
    ctx.need_all_lanes("an exchange between lanes")
    low, high = where.bounds()
    if low is None or high is None or low < 0 or high > 63:
        found = memory.reachable(ctx, where)
        if found is None or found[0] < 0 or found[1] > 63:
            raise ctx.error("AG422", source=str(where))
    moved = {v: ctx.b.lanes(v, where) for v in dict.fromkeys(tile.pieces)}
    return Tile(tile.dtype, tile.dist.moved(ctx.lane, where), tuple(moved[v] for v in tile.pieces))


def _reduction(fn: str) -> Call:
    def call(interp: Expressions, tile: Tile, *axes: object, within: object = "block") -> object:
        ctx = interp.ctx
        names = [want.text(ctx, fn, "an axis", a) for a in axes]
        return reduce.reduce(ctx, tile, reduce.MAP_OF[fn], names, _in_wave(interp, fn, within))

    call.__name__ = fn
    return call


def _scan(name: str) -> Call:
    def call(
        interp: Expressions,
        tile: Tile,
        axis: object,
        exclusive: object = False,
        reverse: object = False,
        within: object = "block",
    ) -> object:
        ctx = interp.ctx
        return scan.scan(
            ctx,
            tile,
            scan.MAP_OF[name],
            want.text(ctx, name, "the axis", axis),
            want.flag(ctx, name, "exclusive", exclusive),
            want.flag(ctx, name, "reverse", reverse),
            _in_wave(interp, name, within),
        )

    call.__name__ = name
    return call


def _end(name: str) -> Call:
    def call(interp: Expressions, tile: Tile, axis: object, within: object = "block") -> object:
        ctx = interp.ctx
        return scan.end(
            ctx, tile, want.text(ctx, name, "the axis", axis), name == "last", _in_wave(interp, name, within)
        )

    call.__name__ = name
    return call


def _in_wave(interp: Expressions, function: str, within: object) -> bool:
    if within not in ("block", "wave"):
        raise interp.ctx.error("AG112", function=function, problem='`within` is "block" or "wave"')
    return within == "wave"


TILE: dict[str, Call] = {
    "to": to,
    "bitcast": bitcast,
    "regs": regs,
    "order": order,
    "without": without,
    "held_as": held_as,
    "from_lane": from_lane,
    **{name: _reduction(name) for name in reduce.MAP_OF},
    **{name: _scan(name) for name in scan.MAP_OF},
    "first": _end("first"),
    "last": _end("last"),
}
