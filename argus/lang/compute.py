"""Arithmetic functions: matrix instructions, elementwise functions of tiles, choices, and numbers as data."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from argus.gfx942.fragments import Matrix
from argus.ir.maps import MapFn
from argus.ir.types import DTYPES, DType
from argus.lang import arguments as want
from argus.lang import arithmetic, tiles
from argus.lang.convert import convert
from argus.lang.distribution import SCALAR, Distribution, DistributionForm
from argus.lang.invoke import Call
from argus.lang.values import Coordinates, Tile
from argus.layout import expr as E
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.lang.expressions import Expressions


def mfma(interp: Expressions, a: object, b: object, c: object) -> object:
    ctx = interp.ctx
    acc = want.tile(ctx, "ag.mfma", "c", c)
    operands = [want.tile(ctx, "ag.mfma", n, t) for n, t in (("a", a), ("b", b))]
    name = acc.dist.inst or next((t.dist.inst for t in operands if t.dist.inst), "")
    found = ctx.target.matrix(name) if name else None
    if found is None:
        raise ctx.error("AG406", problem="none of the operands says which matrix instruction it belongs to")
    return multiply(interp, found, operands[0], operands[1], acc)


def multiply(interp: Expressions, inst: Matrix, a: Tile, b: Tile, c: Tile) -> Tile:
    """One matrix instruction on whole operands."""
    ctx = interp.ctx
    ctx.need_all_lanes(inst.name)
    row = inst.row
    for label, t in (("first", a), ("second", b), ("accumulator", c)):
        if t.dist.inst and t.dist.inst != inst.name:
            raise ctx.error("AG406", problem=f"the {label} operand is laid out for {t.dist.inst}, not for {inst.name}")
    for label, t, dtype_name, n in (
        ("first", a, row.a, row.a_elements),
        ("second", b, row.b, row.a_elements),
        ("accumulator", c, row.c, row.d_elements),
    ):
        element = DTYPES["f32" if dtype_name == "xf32" else dtype_name]
        if t.dtype != element:
            raise ctx.error("AG404", inst=inst.name, which=label, wanted=element, got=t.dtype)
        if t.count != n:
            raise ctx.error("AG405", inst=inst.name, which=label, wanted=n, got=t.count)
    value = ctx.b.mfma(inst.name, *(tiles.collect(ctx, tiles.elements(t)) for t in (a, b, c)))
    return Tile(c.dtype, c.dist, (value,))


def where(interp: Expressions, condition: object, x: object, y: object) -> object:
    ctx = interp.ctx
    if isinstance(condition, Expr) and arithmetic.is_index(x) and arithmetic.is_index(y):
        return arithmetic.folded(E.select(arithmetic.condition(ctx, condition), E.as_expr(x), E.as_expr(y)))
    if isinstance(condition, bool):
        return x if condition else y
    x, y = (tiles.materialise(ctx, v) if isinstance(v, Coordinates) else v for v in (x, y))
    like = next((t for t in (x, y) if isinstance(t, Tile)), None)
    if like is None:
        raise ctx.error("AG112", function="ag.where", problem="one of its values must be a tile")
    if isinstance(condition, Expr):
        condition = Coordinates(SCALAR, (arithmetic.condition(ctx, condition),))
    mask = want.tile(ctx, "ag.where", "condition", condition)
    return tiles.elementwise(ctx, "select", mask, arithmetic.to_tile(ctx, x, like), arithmetic.to_tile(ctx, y, like))


def function(row: MapFn) -> Call:
    """`ag.name(...)` of an elementwise function."""
    if row.name in ("max", "min"):
        return extreme(row.name)
    return {1: _unary, 2: _binary, 3: _ternary}[row.arity](row.name)


def _unary(name: str) -> Call:
    def call(interp: Expressions, x: object) -> object:
        return tiles.elementwise(interp.ctx, name, want.tile(interp.ctx, f"ag.{name}", "x", x))

    return call


def _binary(name: str) -> Call:
    def call(interp: Expressions, x: object, y: object) -> object:
        return _spread(interp, name, x, y)

    return call


def _ternary(name: str) -> Call:
    def call(interp: Expressions, x: object, y: object, z: object) -> object:
        return _spread(interp, name, x, y, z)

    return call


def _spread(interp: Expressions, name: str, *args: object) -> object:
    """A function of tiles and numbers, one of them a tile."""
    ctx = interp.ctx
    like = next((t for t in args if isinstance(t, Tile)), None)
    if like is None:
        raise ctx.error("AG112", function=f"ag.{name}", problem="one of its arguments must be a tile")
    return tiles.elementwise(ctx, name, *(arithmetic.to_tile(ctx, v, like) for v in args))


def extreme(name: str) -> Call:
    def call(interp: Expressions, x: object, y: object) -> object:
        ctx = interp.ctx
        like = next((t for t in (x, y) if isinstance(t, Tile)), None)
        if like is not None:
            return tiles.elementwise(ctx, name, arithmetic.to_tile(ctx, x, like), arithmetic.to_tile(ctx, y, like))
        if arithmetic.is_index(x) and arithmetic.is_index(y):
            fn = E.maximum if name == "max" else E.minimum
            return arithmetic.folded(fn(E.as_expr(x), E.as_expr(y)))
        if arithmetic.is_number(x) and arithmetic.is_number(y):
            return max(x, y) if name == "max" else min(x, y)
        given = f"{arithmetic.describe(x)} and {arithmetic.describe(y)}"
        raise ctx.error("AG112", function=f"ag.{name}", problem=f"it takes two tiles, indices or numbers, not {given}")

    return call


def cdiv(interp: Expressions, x: object, y: object) -> object:
    ctx = interp.ctx
    a, b = want.index(ctx, "ag.cdiv", "x", x), want.index(ctx, "ag.cdiv", "y", y)
    return arithmetic.index_binary(ctx, ast.FloorDiv, a + b - 1, b)


def stack(interp: Expressions, parts: object, name: object) -> object:
    """Tiles of one kind as one tile with a further, slowest digit `name`."""
    ctx = interp.ctx
    label = want.text(ctx, "ag.stack", "name", name)
    items = interp.static_items(parts, None)
    made = [want.tile(ctx, "ag.stack", "a part", p) for p in items]
    if not made:
        raise ctx.error("AG112", function="ag.stack", problem="it needs at least one tile")
    first = made[0]
    for t in made[1:]:
        if t.dtype != first.dtype:
            raise ctx.error("AG401", what="`ag.stack`", left=first.dtype, right=t.dtype)
        if t.count != first.count or t.dist.axes != first.dist.axes:
            raise ctx.error("AG402", left=f"{first.count} elements per thread", right=f"{t.count}")
    if len(made) * first.count > want.MAX_ELEMENTS:
        raise ctx.error("AG318", held=len(made) * first.count, limit=want.MAX_ELEMENTS)
    rows = [tuple(t.dist.coords(i).values()) for t in made for i in range(t.count)]
    digits = ((label, len(made)), *first.dist.digits)
    dist = Distribution(digits, first.dist.axes, DistributionForm(lambda i: rows[i]), tuple(range(len(rows))))
    pieces = [p for t in made for p in tiles.regroup(ctx, t, first.chunk).pieces]
    return Tile(first.dtype, dist, tuple(pieces))


def number_of(dtype: DType) -> Call:
    """`f32(1.5)`: a scalar tile of a number or an index."""

    def call(interp: Expressions, x: object) -> object:
        ctx = interp.ctx
        if isinstance(x, (int, float)):
            return tiles.constant(ctx, x, dtype, SCALAR)
        if isinstance(x, (Expr, Coordinates)):
            data = arithmetic.index_as_data(ctx, x) if isinstance(x, Expr) else tiles.materialise(ctx, x)
            return convert(ctx, data, dtype)
        raise ctx.error(
            "AG112", function=dtype.name, problem=f"it takes a number or an index, not {arithmetic.describe(x)}"
        )

    return call
