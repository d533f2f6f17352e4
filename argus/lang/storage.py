"""Storage: LDS buffers (`ag.shared`, `ag.ring`) and register tiles filled with a number (`ag.zeros`, `ag.full`).

LDS buffers are placed one after the other, each at a multiple of 16 bytes, and must fit the 64 KiB of a workgroup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.gfx942.fragments import matrix
from argus.ir.ops import Shared
from argus.ir.types import DType
from argus.lang import arguments as want
from argus.lang import arithmetic, tiles
from argus.lang.context import ReadContext
from argus.lang.distribution import Distribution
from argus.lang.values import Ring, SharedTile, Tile
from argus.layout.expr import const
from argus.layout.layout import Layout

if TYPE_CHECKING:
    from argus.lang.expressions import Expressions

LDS_ALIGN = 16


def shared(interp: Expressions, layout: object, dtype: object, name: object = None) -> object:
    ctx = interp.ctx
    given, element = _layout(ctx, "ag.shared", layout), want.dtype(ctx, "ag.shared", "dtype", dtype)
    label = want.text(ctx, "ag.shared", "name", name) if name is not None else f"lds{len(ctx.shared)}"
    buffer = _allocate(ctx, label, given, element, 1)
    if name is None:
        ctx.unnamed.append(buffer)
    return SharedTile(buffer, given, const(0))


def ring(interp: Expressions, depth: object, /, **members: object) -> object:
    ctx = interp.ctx
    n = want.integer(ctx, "ag.ring", "depth", depth, 1, 16)
    made: dict[str, SharedTile] = {}
    strides: dict[str, int] = {}
    for label, pair in members.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ctx.error("AG601", name=label)
        given, element = _layout(ctx, "ag.ring", pair[0]), want.dtype(ctx, "ag.ring", label, pair[1])
        made[label] = SharedTile(_allocate(ctx, label, given, element, n), given, const(0))
        strides[label] = _rounded(given.size_bytes)
    if not made:
        raise ctx.error("AG601", name="k")
    return Ring(n, made, strides)


def _layout(ctx: ReadContext, function: str, value: object) -> Layout:
    if not isinstance(value, Layout):
        raise ctx.error("AG112", function=function, problem=f"it needs an ag.Layout, not {arithmetic.describe(value)}")
    return value


def _rounded(size: int) -> int:
    return -(-size // LDS_ALIGN) * LDS_ALIGN


def _allocate(ctx: ReadContext, name: str, layout: Layout, element: DType, copies: int) -> Shared:
    step = layout.itemsize
    if step < element.bytes:
        raise ctx.error("AG320", step=step, dtype=element, size=element.bytes)
    if (pair := layout.collision()) is not None:
        first, second = (", ".join(f"{a} = {v}" for a, v in point.items()) for point in pair)
        raise ctx.error("AG321", first=first, second=second)
    base = max((b.base + b.bytes for b in ctx.shared), default=0)
    size = _rounded(layout.size_bytes) * copies
    if base + size > ctx.target.lds_bytes:
        used = ", ".join(f"{b.name} {b.bytes:,}" for b in ctx.shared)
        raise ctx.error(
            "AG310",
            *([f"already used: {used} bytes"] if used else []),
            size=f"{size:,}",
            total=f"{base + size:,}",
            limit=f"{ctx.target.lds_bytes:,}",
        )
    buffer = Shared(ctx.memory_name(name), element, size, base, str(layout), ctx.span)
    ctx.shared.append(buffer)
    return buffer


def zeros(interp: Expressions, owner: object, dtype: object, tiles: object = None, at: object = None) -> object:
    return _filled(interp, "ag.zeros", owner, dtype, 0, tiles, at)


def full(
    interp: Expressions, owner: object, dtype: object, value: object, tiles: object = None, at: object = None
) -> object:
    return _filled(interp, "ag.full", owner, dtype, value, tiles, at)


def _filled(
    interp: Expressions, fn: str, owner: object, dtype: object, value: object, repeat: object, at: object
) -> Tile:
    ctx = interp.ctx
    element = want.dtype(ctx, fn, "dtype", dtype)
    dist = want.distribution(ctx, fn, owner, repeat)
    if at is not None:
        if not isinstance(at, dict) or any(a not in dist.axes for a in at):
            raise ctx.error(
                "AG112", function=fn, problem=f"`at` is dict(axis=index, …) with axes of {', '.join(dist.axes)}"
            )
        dist = dist.shifted({a: want.index(ctx, fn, f"at[{a}]", e) for a, e in at.items()})
    chunk = _own_count(dist, element)
    if isinstance(value, Tile):
        return Tile(
            value.dtype,
            dist,
            tuple(ctx.b.registers((value.pieces[0],), ((0, 0),) * chunk) for _ in range(dist.count // chunk)),
        )
    if not isinstance(value, (int, float)):
        raise ctx.error("AG112", function=fn, problem=f"`value` is a number, not {arithmetic.describe(value)}")
    made = tiles.constant(ctx, value, element, dist, chunk)
    # Each piece is its own value, so that each accumulator has its own registers from the start.
    pieces = [
        made.pieces[0],
        *(ctx.b.constant(_like(value, element), element, chunk) for _ in range(dist.count // chunk - 1)),
    ]
    return Tile(element, dist, tuple(pieces))


def _like(value: int | float, element: DType) -> int | float:
    return float(value) if element.kind == "float" else int(value)


def _own_count(dist: Distribution, element: DType) -> int:
    """Elements of one matrix instruction's accumulator, else a natural piece."""
    found = matrix(dist.inst) if dist.inst else None
    if found is not None and dist.role == "acc" and dist.count % found.row.d_elements == 0:
        return found.row.d_elements
    return tiles.natural_chunk(dist.count)
