"""Change of element type: `tile.to(bf16)`, `tile.to(i8, saturate=True)`, `tile.bitcast(i32)`.

Rounding is to nearest even and keeps NaN a NaN unless the author states otherwise (`rounding="rtz"`, `finite=True`).
`argus.ir.conversions` says what every pair of types means; what the compiler does not do is refused here.
"""

from __future__ import annotations

from argus.ir.conversions import ROUNDINGS, TOWARD_ZERO, roundable
from argus.ir.types import DType, boolean
from argus.lang import tiles
from argus.lang.context import ReadContext
from argus.lang.values import Tile


def convert(
    ctx: ReadContext, tile: Tile, dtype: DType, rounding: str = "rne", saturate: bool = False, finite: bool = False
) -> Tile:
    if rounding not in ROUNDINGS:
        raise ctx.error("AG112", function="to", problem=f'rounding is "rne" or "rtz", not {rounding!r}')
    if dtype == tile.dtype:
        return tile
    if boolean in (dtype, tile.dtype):
        raise ctx.error("AG409", left=tile.dtype, right=dtype)
    if not roundable(tile.dtype, dtype, rounding):
        problem = f'"rtz" from {tile.dtype} to {dtype}: it is for {", ".join(sorted(TOWARD_ZERO))} and integers'
        raise ctx.error("AG112", function="to", problem=problem)
    made = {v: ctx.b.convert(v, dtype, rounding, saturate, finite) for v in dict.fromkeys(tile.pieces)}
    return Tile(dtype, tile.dist, tuple(made[v] for v in tile.pieces))


def bitcast(ctx: ReadContext, tile: Tile, dtype: DType) -> Tile:
    """The same bits as another type. To a wider one, neighbouring elements of the last digit become one, which stands
    where the first of them stood; to a narrower one, each element becomes a digit `part` of pieces, low bits first."""
    if boolean in (dtype, tile.dtype):
        raise ctx.error("AG409", "a mask has no bits; use ag.where", left=tile.dtype, right=dtype)
    if dtype.bits <= tile.dtype.bits:
        ratio = tile.dtype.bits // dtype.bits
        digits = (*tile.dist.digits, ("part", ratio)) if ratio > 1 else tile.dist.digits
        dist = tile.dist.part(digits, tuple(i for i in range(tile.count) for _ in range(ratio)))
        return Tile(dtype, dist, tuple(ctx.b.bitcast(v, dtype) for v in tile.pieces))
    ratio = dtype.bits // tile.dtype.bits
    name, extent = tile.dist.digits[-1] if tile.dist.digits else ("", 1)
    if extent % ratio:
        note = f"{ratio} neighbouring elements make one {dtype}; the last digit of the tile has {extent}"
        raise ctx.error("AG409", note, left=tile.dtype, right=dtype)
    dist = tile.dist.part((*tile.dist.digits[:-1], (name, extent // ratio)), tuple(range(0, tile.count, ratio)))
    whole = tiles.regroup(ctx, tile, tile.chunk if tile.chunk % ratio == 0 else ratio)
    return Tile(dtype, dist, tuple(ctx.b.bitcast(v, dtype) for v in whole.pieces))
