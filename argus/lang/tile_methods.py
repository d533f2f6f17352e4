"""Methods of register tiles: conversion, picking registers, order of digits, reductions, exchange between lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.lang import arguments as want
from argus.lang import convert, reduce, tiles
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


def _reduction(fn: str) -> Call:
    def call(interp: Expressions, tile: Tile, *axes: object) -> object:
        ctx = interp.ctx
        names = [want.text(ctx, fn, "an axis", a) for a in axes]
        return reduce.reduce(ctx, tile, reduce.MAP_OF[fn], names)

    call.__name__ = fn
    return call


TILE: dict[str, Call] = {
    "to": to,
    "bitcast": bitcast,
    "regs": regs,
    "order": order,
    "sum": _reduction("sum"),
    "max": _reduction("max"),
    "min": _reduction("min"),
}
