"""The few functions of Python a kernel file can call; all of them are carried out while reading."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from argus.lang import arguments as want
from argus.lang import arithmetic, tiles
from argus.lang.compute import extreme
from argus.lang.context import MAX_LENGTH
from argus.lang.invoke import Call
from argus.lang.values import Tile
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.lang.expressions import Expressions


def _static_range(interp: Expressions, *bounds: object) -> object:
    ctx = interp.ctx
    for b in bounds:
        if isinstance(b, Expr):
            raise ctx.error("AG513", bound=str(b))
    if not 1 <= len(bounds) <= 3 or (len(bounds) == 3 and bounds[2] == 0):
        raise ctx.error(
            "AG112", function="range", problem="it takes one to three whole numbers, and a step other than 0"
        )
    made = range(*(want.integer(ctx, "range", "a bound", b, -(1 << 31)) for b in bounds))
    if len(made) > MAX_LENGTH:
        raise ctx.error("AG115", what="a range", limit=f"{MAX_LENGTH:,} steps")
    return made


def _sized(name: str, fn: Callable[[list[Any]], object]) -> Call:
    def call(interp: Expressions, items: object) -> object:
        found = interp.static_items(items, None)
        try:
            return fn(found)
        except (TypeError, ValueError):
            raise interp.ctx.error("AG112", function=name, problem="it takes numbers known when reading") from None

    return call


def _length(interp: Expressions, items: object) -> object:
    if isinstance(items, str):
        return len(items)
    return len(interp.static_items(items, None))


def _folded_extreme(name: str) -> Call:
    def call(interp: Expressions, *items: object) -> object:
        ctx = interp.ctx
        values = interp.static_items(items[0], None) if len(items) == 1 else list(items)
        if not values:
            raise ctx.error("AG112", function=name, problem="it needs at least one value")
        total = values[0]
        for v in values[1:]:
            total = extreme(name)(interp, total, v)
        return total

    return call


def _sum(interp: Expressions, items: object, start: object = 0) -> object:
    total = start
    for position, item in enumerate(interp.static_items(items, None)):
        total = (
            item
            if position == 0 and start == 0 and isinstance(item, Tile)
            else arithmetic.binary(interp.ctx, ast.Add(), total, item)
        )
    return total


def _enumerate(interp: Expressions, items: object) -> object:
    return list(enumerate(interp.static_items(items, None)))


def _zip(interp: Expressions, *items: object) -> object:
    lists = [interp.static_items(i, None) for i in items]
    if len({len(x) for x in lists}) > 1:
        raise interp.ctx.error("AG112", function="zip", problem="its lists have different lengths")
    return list(zip(*lists, strict=True))


def _dict(interp: Expressions, /, **entries: object) -> object:
    return dict(entries)


def _absolute(interp: Expressions, x: object) -> object:
    if isinstance(x, Tile):
        return tiles.elementwise(interp.ctx, "abs", x)
    if isinstance(x, (int, float)):
        return abs(x)
    raise interp.ctx.error(
        "AG112", function="abs", problem=f"it takes a number or a tile, not {arithmetic.describe(x)}"
    )


STATIC: dict[str, Call] = {
    "range": _static_range,
    "len": _length,
    "min": _folded_extreme("min"),
    "max": _folded_extreme("max"),
    "abs": _absolute,
    "sum": _sum,
    "enumerate": _enumerate,
    "zip": _zip,
    "dict": _dict,
    "list": _sized("list", list),
    "tuple": _sized("tuple", tuple),
    "reversed": _sized("reversed", lambda x: x[::-1]),
    "bool": lambda interp, x: bool(want.integer(interp.ctx, "bool", "x", x)) if not isinstance(x, bool) else x,
    "int": lambda interp, x: want.integer(interp.ctx, "int", "x", x, -(1 << 31)),
}
