"""Who computes: `ag.grid`, the orders in which blocks are walked, `ag.wave`, `ag.lane`, `ag.thread`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z
from argus.lang import arguments as want
from argus.lang import arithmetic, grids
from argus.lang.values import NamedPolicy
from argus.layout.expr import Expr, ExprError

if TYPE_CHECKING:
    from argus.lang.expressions import Expressions


def grid(interp: Expressions, *extents: object, order: object = None) -> object:
    ctx = interp.ctx
    if ctx.grid is not None:
        raise ctx.error("AG212")
    if not 1 <= len(extents) <= 6:
        raise ctx.error("AG213", count=len(extents))
    sizes = [want.index(ctx, "ag.grid", f"extent {i}", e) for i, e in enumerate(extents)]
    for i, size in enumerate(sizes):
        if ctx.level(size) != "block" or any(v in (BLOCK_X, BLOCK_Y, BLOCK_Z) for v in size.free()):
            raise ctx.error("AG112", function="ag.grid", problem=f"extent {i} may depend on sizes and knobs only")
    if order is not None and not isinstance(order, NamedPolicy):
        raise ctx.error("AG112", function="ag.grid", problem="`order` is ag.row_major(), ag.grouped(n) or ag.xcd(n)")
    try:
        ctx.grid, blocks = grids.mapping(sizes, order)
    except ExprError as error:
        raise ctx.error("AG512", problem=str(error)) from None
    return blocks[0] if len(blocks) == 1 else tuple(blocks)


def wave(interp: Expressions) -> object:
    ctx = interp.ctx
    parts: list[object] = []
    rest: Expr = ctx.wave
    for extent in reversed(ctx.wave_shape):
        parts.append(arithmetic.folded(rest % extent))
        rest = rest // extent
    parts.reverse()
    return parts[0] if len(parts) == 1 else tuple(parts)


def lane(interp: Expressions) -> object:
    return interp.ctx.lane


def thread(interp: Expressions) -> object:
    return interp.ctx.thread


def row_major(interp: Expressions) -> object:
    return NamedPolicy("row_major", {})


def grouped(interp: Expressions, rows: object) -> object:
    return NamedPolicy("grouped", {"rows": want.integer(interp.ctx, "ag.grouped", "rows", rows, 1, 1 << 16)})


def xcd(interp: Expressions, count: object = 8, group: object = 1) -> object:
    count_ = want.integer(interp.ctx, "ag.xcd", "count", count, 1, 64)
    return NamedPolicy("xcd", {"count": count_, "rows": want.integer(interp.ctx, "ag.xcd", "group", group, 1, 1 << 16)})
