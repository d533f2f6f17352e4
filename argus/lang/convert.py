"""Change of element type: `tile.to(bf16)`, `tile.to(i8, saturate=True)`, `tile.bitcast(i32)`.

Rounding is to nearest even and keeps NaN a NaN unless the author states otherwise (`rounding="rtz"`, `finite=True`).
Where gfx942 has no direct instruction the conversion goes through f32, which is exact for every type it passes.
"""

from __future__ import annotations

from argus.ir.types import DType, boolean
from argus.lang.context import Context
from argus.lang.values import Tile

ROUNDINGS = ("rne", "rtz")


def convert(
    ctx: Context, tile: Tile, dtype: DType, rounding: str = "rne", saturate: bool = False, finite: bool = False
) -> Tile:
    if rounding not in ROUNDINGS:
        raise ctx.error("AG112", function="to", problem=f'rounding is "rne" or "rtz", not {rounding!r}')
    if dtype == tile.dtype:
        return tile
    if boolean in (dtype, tile.dtype):
        raise ctx.error("AG409", left=tile.dtype, right=dtype)
    made = {v: ctx.b.convert(v, dtype, rounding, saturate, finite) for v in dict.fromkeys(tile.pieces)}
    return Tile(dtype, tile.dist, tuple(made[v] for v in tile.pieces))


def bitcast(ctx: Context, tile: Tile, dtype: DType) -> Tile:
    """The same bits as another type of the same width."""
    if dtype.bits != tile.dtype.bits:
        raise ctx.error("AG409", "a bitcast keeps the width of an element", left=tile.dtype, right=dtype)
    return Tile(dtype, tile.dist, tuple(ctx.b.bitcast(v, dtype) for v in tile.pieces))
