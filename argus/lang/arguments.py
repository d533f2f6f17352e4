"""Arguments of the language's functions: what may be passed, and what is said when something else is.

Every check names the function and the argument as the author wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.gfx942.fragments import Fragment
from argus.ir.types import DType
from argus.lang import arithmetic, tiles
from argus.lang.context import ReadContext
from argus.lang.distribution import Distribution, from_owner
from argus.lang.values import Coordinates, Tile
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError
from argus.layout.owner import Owner

MAX_ELEMENTS = 2048
"""What a thread can hold: 512 registers of four 8-bit elements."""


def integer(ctx: ReadContext, function: str, argument: str, value: object, low: int = 0, high: int = 1 << 31) -> int:
    if isinstance(value, Expr) and value.op == "const":
        value = value.value
    if not isinstance(value, int) or isinstance(value, bool):
        raise ctx.error(
            "AG112",
            function=function,
            problem=f"`{argument}` is a whole number known when reading, not {arithmetic.describe(value)}",
        )
    if not low <= value <= high:
        raise ctx.error("AG112", function=function, problem=f"`{argument}` is {value}, outside {low}..{high}")
    return value


def flag(ctx: ReadContext, function: str, argument: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ctx.error(
            "AG112", function=function, problem=f"`{argument}` is True or False, not {arithmetic.describe(value)}"
        )
    return value


def text(ctx: ReadContext, function: str, argument: str, value: object) -> str:
    if not isinstance(value, str):
        raise ctx.error(
            "AG112", function=function, problem=f"`{argument}` is a string, not {arithmetic.describe(value)}"
        )
    return value


def index(ctx: ReadContext, function: str, argument: str, value: object) -> Expr:
    if not isinstance(value, (int, Expr)):
        raise ctx.error(
            "AG112", function=function, problem=f"`{argument}` is an index, not {arithmetic.describe(value)}"
        )
    try:
        return E.as_expr(value)
    except ExprError as error:
        raise ctx.error("AG512", problem=str(error)) from None


def dtype(ctx: ReadContext, function: str, argument: str, value: object) -> DType:
    if not isinstance(value, DType):
        raise ctx.error("AG411", function=function, argument=argument, got=arithmetic.describe(value))
    return value


def tile(ctx: ReadContext, function: str, argument: str, value: object) -> Tile:
    if isinstance(value, Coordinates):
        return tiles.materialise(ctx, value)
    if not isinstance(value, Tile):
        raise ctx.error("AG112", function=function, problem=f"`{argument}` is a tile, not {arithmetic.describe(value)}")
    return value


def owner(ctx: ReadContext, function: str, value: object) -> Owner | Fragment:
    if not isinstance(value, (Owner, Fragment)):
        raise ctx.error(
            "AG112",
            function=function,
            problem=f"it needs an ag.Owner (or a fragment of a matrix instruction), not {arithmetic.describe(value)}",
        )
    return value


def counts(ctx: ReadContext, function: str, argument: str, value: object) -> dict[str, int]:
    """A dictionary axis -> how many."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise ctx.error(
            "AG112",
            function=function,
            problem=f"`{argument}` is dict(axis=number, …), not {arithmetic.describe(value)}",
        )
    return {k: integer(ctx, function, f"{argument}[{k}]", v, 1, 4096) for k, v in value.items()}


def distribution(ctx: ReadContext, function: str, value: object, tiles_given: object = None) -> Distribution:
    """The distribution of an owner in this workgroup."""
    given = owner(ctx, function, value)
    repeat = counts(ctx, function, "tiles", tiles_given)
    unknown = [a for a in repeat if a not in given.outputs]
    if unknown:
        raise ctx.error(
            "AG302", problem=f"`tiles` names the axis {unknown[0]}, the owner has {', '.join(given.outputs)}"
        )
    inputs = given.inputs
    threads = inputs.get("t", ctx.threads)
    if "t" in inputs and threads != ctx.threads:
        raise ctx.error("AG303", owner=threads, kernel=ctx.threads)
    if inputs.get("lane", 64) != 64 or inputs.get("wave", ctx.waves) != ctx.waves:
        raise ctx.error("AG303", owner=inputs.get("lane", 64) * inputs.get("wave", ctx.waves), kernel=ctx.threads)
    held = 1
    for name, n in (*inputs.items(), *repeat.items()):
        if name not in ("t", "lane", "wave"):
            held *= n
    if held > MAX_ELEMENTS:
        raise ctx.error("AG318", held=held, limit=MAX_ELEMENTS)
    key = (id(given), tuple(repeat.items()))
    found = ctx.distributions.get(key)
    if found is None:
        made = from_owner(given, ctx.waves, repeat)
        found = ctx.distributions[key] = (given, made)
    return found[1]
