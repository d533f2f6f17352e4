"""Operators of the language: one meaning for numbers, indices, coordinates and tiles.

    BM // 64             numbers: Python's arithmetic, now
    bm*BM + 64*wm        an index: an expression the checker reads and the compiler emits
    s.Sk <= m0 + s.Sq    coordinates: one expression per element, a mask
    s * scale            tiles: one op per piece of registers

An index that turns out to be a constant becomes a number again, so `if` and list indexing may use it.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any, TypeGuard

from argus.ir.types import DType, i32
from argus.lang import tiles
from argus.lang.context import MAX_INT_BITS, MAX_LENGTH, ReadContext
from argus.lang.distribution import SCALAR, Distribution
from argus.lang.values import Coordinates, Tile
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError

Number = int | float | bool

_TILE_FN: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "shr",
}
_INDEX_FN: dict[type[ast.operator], Callable[[Any, Any], Expr]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_STATIC_FN: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    **_INDEX_FN,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
SYMBOL: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], tuple[Callable[[Any, Any], Any], str]] = {
    ast.Lt: (operator.lt, "lt"),
    ast.LtE: (operator.le, "le"),
    ast.Gt: (operator.gt, "gt"),
    ast.GtE: (operator.ge, "ge"),
    ast.Eq: (operator.eq, "eq"),
    ast.NotEq: (operator.ne, "ne"),
}


def is_number(x: object) -> TypeGuard[int | float]:
    return isinstance(x, (int, float))


def is_integer(x: object) -> TypeGuard[int]:
    return isinstance(x, int)


def is_index(x: object) -> TypeGuard[int | Expr]:
    return isinstance(x, (int, Expr))


def folded(e: Expr) -> Expr | int | bool:
    """A constant expression as the number it is."""
    if e.op != "const":
        return e
    return bool(e.value) if e.boolean else e.value


def article(name: str) -> str:
    return f"{'an' if name[0] in 'aefhilmnorsx' else 'a'} {name}"


def _with_article(words: str) -> str:
    return f"{'an' if words[0] in 'AEIOU' else 'a'} {words.lower()}"


def describe(x: object) -> str:
    """What a value is, in the author's words."""
    if isinstance(x, Tile):
        return f"{article(x.dtype.name)} tile"
    if isinstance(x, Coordinates):
        return "the coordinates of a tile"
    if isinstance(x, Expr):
        return "a condition" if x.boolean else "an index"
    if isinstance(x, bool):
        return "a truth value"
    if isinstance(x, int):
        return "a whole number"
    if isinstance(x, float):
        return "a number with a fraction"
    if x is None:
        return "nothing"
    words = {str: "a string", list: "a list", tuple: "a tuple", dict: "a dictionary", DType: "an element type"}
    return words.get(type(x), _with_article(re.sub(r"(?<!^)(?=[A-Z])", " ", type(x).__name__)))


def binary(ctx: ReadContext, op: ast.operator, x: object, y: object) -> object:
    kind = type(op)
    if isinstance(x, Tile) or isinstance(y, Tile):
        return _tile_binary(ctx, kind, x, y)
    if isinstance(x, Coordinates) or isinstance(y, Coordinates):
        return _coordinates(ctx, kind, x, y)
    if isinstance(x, Expr) or isinstance(y, Expr):
        return index_binary(ctx, kind, x, y)
    return _static_binary(ctx, kind, x, y)


def _of_threads(e: Expr) -> bool:
    """It depends on the thread alone, so its least value is taken by one."""
    return all(v.name in ("lane", "wave") for v in e.free()) and e.op == "var"


def index_binary(ctx: ReadContext, kind: type[ast.operator], x: object, y: object) -> Expr | int | bool:
    if not (is_index(x) and is_index(y)):
        raise ctx.error("AG415", symbol=SYMBOL[kind], left=describe(x), right=describe(y))
    fn = _INDEX_FN.get(kind)
    if kind in (ast.BitAnd, ast.BitOr) and _truthy(x) and _truthy(y):
        fn = E.land if kind is ast.BitAnd else E.lor
    if fn is None:
        raise ctx.error("AG415", "indices are whole numbers: use // for division, and shifts or products for powers",
                 symbol=SYMBOL[kind], left=describe(x), right=describe(y))  # fmt: skip
    if kind in (ast.FloorDiv, ast.Mod) and isinstance(y, Expr) and y.lo is not None and y.lo <= 0 and _of_threads(y):
        raise ctx.error("AG512", problem=f"the divisor {y} is {y.lo} in some thread")
    try:
        return folded(ctx.bounded(E.as_expr(fn(E.as_expr(x), E.as_expr(y)))))
    except (ExprError, ZeroDivisionError) as error:
        raise ctx.error("AG512", problem=str(error)) from None


def _truthy(x: object) -> bool:
    return isinstance(x, bool) or (isinstance(x, Expr) and x.boolean)


def _coordinates(ctx: ReadContext, kind: type[ast.operator], x: object, y: object) -> Coordinates:
    dist = _distribution_of(x, y)
    left, right = spread(ctx, x, dist), spread(ctx, y, dist)
    made = [E.as_expr(index_binary(ctx, kind, a, b)) for a, b in zip(left, right, strict=True)]
    ctx.spend(len(made))
    return Coordinates(dist, tuple(made))


def _distribution_of(*values: object) -> Distribution:
    return next((v.dist for v in values if isinstance(v, (Coordinates, Tile))), SCALAR)


def spread(ctx: ReadContext, x: object, dist: Distribution) -> tuple[object, ...]:
    if isinstance(x, Coordinates):
        if not x.dist.same_as(dist):
            raise ctx.error(
                "AG402", left=f"coordinates of {dist.count} elements", right=f"coordinates of {x.dist.count} elements"
            )
        return x.exprs
    return (x,) * dist.count


def to_tile(ctx: ReadContext, x: object, like: Tile) -> Tile:
    """A number, index or coordinates as a tile that can meet `like`."""
    if isinstance(x, Tile):
        return x
    if isinstance(x, (int, float)):
        return tiles.constant(ctx, x, like.dtype, like.dist, like.chunk)
    if isinstance(x, Coordinates):
        return tiles.materialise(ctx, x)
    if isinstance(x, Expr):
        return tiles.scalar(ctx.b.index(x))
    raise ctx.error("AG410", what=describe(x))


def _tile_binary(ctx: ReadContext, kind: type[ast.operator], x: object, y: object) -> Tile:
    like = x if isinstance(x, Tile) else y
    assert isinstance(like, Tile)
    fn = _TILE_FN.get(kind)
    if fn is None:
        raise ctx.error("AG415", "tiles have + - * / & | ^ << >>; for powers use ag.pow",
                 symbol=SYMBOL[kind], left=describe(x), right=describe(y))  # fmt: skip
    return tiles.elementwise(ctx, fn, to_tile(ctx, x, like), to_tile(ctx, y, like))


def _static_binary(ctx: ReadContext, kind: type[ast.operator], x: object, y: object) -> object:
    fn = _STATIC_FN.get(kind)
    joins = (str, list, tuple)
    if fn is not None and kind is ast.Add and isinstance(x, joins) and isinstance(y, joins) and type(x) is type(y):
        if len(x) + len(y) > MAX_LENGTH:
            raise ctx.error("AG115", what="a list or string", limit=f"{MAX_LENGTH:,} entries")
        return fn(x, y)
    if fn is not None and kind is ast.Mult and isinstance(x, (list, tuple)) and isinstance(y, int):
        if len(x) * max(y, 0) > MAX_LENGTH:
            raise ctx.error("AG115", what="a list", limit=f"{MAX_LENGTH:,} entries")
        return fn(x, y)
    if fn is None or not (is_number(x) and is_number(y)):
        raise ctx.error("AG415", symbol=SYMBOL.get(kind, "?"), left=describe(x), right=describe(y))
    if kind in (ast.Pow, ast.LShift) and isinstance(y, (int, float)) and abs(y) > MAX_INT_BITS:
        raise ctx.error("AG115", what="a number", limit=f"{MAX_INT_BITS} bits")
    try:
        result = fn(x, y)
    except ZeroDivisionError:
        raise ctx.error("AG512", problem="the divisor is 0") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise ctx.error("AG415", str(error), symbol=SYMBOL[kind], left=describe(x), right=describe(y)) from None
    if isinstance(result, complex):
        raise ctx.error("AG415", symbol=SYMBOL[kind], left=describe(x), right=describe(y))
    return checked_number(ctx, result)


def checked_number(ctx: ReadContext, x: Any) -> Any:
    if isinstance(x, int) and x.bit_length() > MAX_INT_BITS:
        raise ctx.error("AG115", what="a number", limit=f"{MAX_INT_BITS} bits")
    return x


def unary(ctx: ReadContext, op: ast.unaryop, x: object) -> object:
    if isinstance(op, ast.Not):
        return negated(ctx, x)
    if isinstance(x, Tile):
        if isinstance(op, ast.USub):
            return tiles.elementwise(ctx, "neg", x)
        if isinstance(op, ast.Invert) and x.dtype.kind == "bool":
            return tiles.elementwise(ctx, "not", x)
        if isinstance(op, ast.Invert) and x.dtype.kind in ("int", "uint"):
            ones = -1 if x.dtype.kind == "int" else (1 << x.dtype.bits) - 1
            return _tile_binary(ctx, ast.Sub, ones, x)  # two's complement, and a term that `value` knows
    if isinstance(x, Coordinates):
        if isinstance(op, ast.USub):
            return Coordinates(x.dist, tuple(-e for e in x.exprs))
        if isinstance(op, ast.Invert) and x.boolean:
            return Coordinates(x.dist, tuple(E.lnot(e) for e in x.exprs))
    if isinstance(op, ast.UAdd) and (is_number(x) or isinstance(x, Expr)):
        return x
    if isinstance(op, ast.USub):
        if isinstance(x, Expr):
            return folded(-x)
        if is_number(x):
            return -x
    if isinstance(op, ast.Invert) and is_integer(x) and not isinstance(x, bool):
        return ~x
    symbol = {ast.USub: "-", ast.Invert: "~", ast.UAdd: "+"}[type(op)]
    raise ctx.error("AG415", symbol=symbol, left="nothing", right=describe(x))


def negated(ctx: ReadContext, x: object) -> object:
    if isinstance(x, Expr):
        return folded(E.lnot(condition(ctx, x)))
    if isinstance(x, (Tile, Coordinates)):
        raise ctx.error("AG410", what=describe(x))
    return not x


def condition(ctx: ReadContext, x: Expr) -> Expr:
    try:
        return x if x.boolean else x.ne(0)
    except ExprError as error:
        raise ctx.error("AG512", problem=str(error)) from None


def compare(ctx: ReadContext, op: ast.cmpop, x: object, y: object) -> object:
    kind = type(op)
    if kind in (ast.Is, ast.IsNot):
        if x is not None and y is not None:
            raise ctx.error("AG415", symbol="is", left=describe(x), right=describe(y))
        return (x is y) == (kind is ast.Is)
    if kind in (ast.In, ast.NotIn):
        if isinstance(y, str) and isinstance(x, str):
            return (x in y) == (kind is ast.In)
        if not isinstance(y, (tuple, list, dict)) or isinstance(x, (Expr, Tile, Coordinates)):
            raise ctx.error("AG415", symbol="in", left=describe(x), right=describe(y))
        return any(x is v or x == v for v in y) == (kind is ast.In)
    fn, name = _COMPARE[kind]
    if isinstance(x, Tile) or isinstance(y, Tile):
        like = x if isinstance(x, Tile) else y
        assert isinstance(like, Tile)
        return tiles.elementwise(ctx, name, to_tile(ctx, x, like), to_tile(ctx, y, like))
    if isinstance(x, Coordinates) or isinstance(y, Coordinates):
        dist = _distribution_of(x, y)
        pairs = zip(spread(ctx, x, dist), spread(ctx, y, dist), strict=True)
        ctx.spend(dist.count)
        return Coordinates(dist, tuple(E.as_expr(_index_compare(ctx, name, kind, a, b)) for a, b in pairs))
    if isinstance(x, Expr) or isinstance(y, Expr):
        return folded(E.as_expr(_index_compare(ctx, name, kind, x, y)))
    if kind in (ast.Eq, ast.NotEq) or (is_number(x) and is_number(y)) or (isinstance(x, str) and isinstance(y, str)):
        return fn(x, y)
    raise ctx.error("AG415", symbol=SYMBOL[kind], left=describe(x), right=describe(y))


def _index_compare(ctx: ReadContext, name: str, kind: type[ast.cmpop], x: object, y: object) -> Expr:
    if not (is_index(x) and is_index(y)):
        raise ctx.error("AG415", symbol=SYMBOL[kind], left=describe(x), right=describe(y))
    try:
        made: Expr = getattr(E.as_expr(x), name)(E.as_expr(y))
    except ExprError as error:
        raise ctx.error("AG512", problem=str(error)) from None
    return ctx.bounded(made)


def conjunction(ctx: ReadContext, op: ast.boolop, values: list[object]) -> object:
    """`and` / `or` of values that are already evaluated and are not all static."""
    if any(isinstance(v, (Tile, Coordinates)) for v in values):
        raise ctx.error(
            "AG416", word="and" if isinstance(op, ast.And) else "or", symbol="&" if isinstance(op, ast.And) else "|"
        )
    parts = [condition(ctx, v) if isinstance(v, Expr) else E.as_expr(bool(v)) for v in values]
    return folded(ctx.bounded(E.land(*parts) if isinstance(op, ast.And) else E.lor(*parts)))


def index_as_data(ctx: ReadContext, x: Expr) -> Tile:
    return Tile(i32, SCALAR, (ctx.b.index(x),))
