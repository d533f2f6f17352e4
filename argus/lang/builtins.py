"""The functions a kernel file can call: `ag.…` and the few static functions of Python.

Each is an ordinary function whose first parameter is the interpreter; its signature is the signature authors see, so
a wrong call is reported in the words of that signature. Methods of tiles, tensors and buffers are in `members`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from argus.gfx942.fragments import Matrix, matrix
from argus.gfx942.lds import SIZE_BYTES as LDS_BYTES
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z
from argus.ir.ops import SetPrio, Shared
from argus.ir.types import DTYPES, DType
from argus.lang import arguments as want
from argus.lang import arithmetic, grids, tiles
from argus.lang.context import MAX_LENGTH, Context
from argus.lang.values import Builtin, Coordinates, Function, Policy, Range, Ring, SharedTile, Tile, Unroll
from argus.layout import expr as E
from argus.layout.expr import Expr, const
from argus.layout.layout import Layout

if TYPE_CHECKING:
    from argus.lang.expressions import Expressions

Call = Callable[..., object]
LDS_ALIGN = 16


@dataclass(frozen=True, slots=True)
class Annotation:
    """`ag.In`, `ag.Out`, `ag.InOut`, `ag.const`: what an argument is; with brackets, its axes and element type."""

    kind: str
    axes: str = ""
    dtype: DType | None = None
    static: str = ""


def invoke(interp: Expressions, builtin: Builtin, args: list[object], keywords: dict[str, object]) -> object:
    """Call a function of the language with the author's arguments."""
    try:
        bound = _signature(builtin.call).bind(interp, *builtin.bound, *args, **keywords)
    except TypeError as error:
        raise interp.ctx.error("AG112", function=builtin.name, problem=_words(str(error)))
    return builtin.call(*bound.args, **bound.kwargs)


@lru_cache(maxsize=1024)
def _signature(call: Call) -> inspect.Signature:
    return inspect.signature(call)


def _words(message: str) -> str:
    return message.replace("got an unexpected keyword argument", "it has no argument").replace(
        "missing a required argument:", "it needs"
    )


# -- who computes ------------------------------------------------------------------------------------------------------


def grid(interp: Expressions, *extents: object, order: object = None) -> object:
    ctx = interp.ctx
    if ctx.grid is not None:
        raise ctx.error("AG212")
    if not 1 <= len(extents) <= 4:
        raise ctx.error("AG213", count=len(extents))
    sizes = [want.index(ctx, "ag.grid", f"extent {i}", e) for i, e in enumerate(extents)]
    for i, size in enumerate(sizes):
        if ctx.level(size) != "block" or any(v in (BLOCK_X, BLOCK_Y, BLOCK_Z) for v in size.free()):
            raise ctx.error("AG112", function="ag.grid", problem=f"extent {i} may depend on sizes and knobs only")
    if order is not None and not isinstance(order, Policy):
        raise ctx.error("AG112", function="ag.grid", problem="`order` is ag.row_major(), ag.grouped(n) or ag.xcd(n)")
    ctx.grid, blocks = grids.mapping(sizes, order)
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
    return Policy("row_major", {})


def grouped(interp: Expressions, rows: object) -> object:
    return Policy("grouped", {"rows": want.integer(interp.ctx, "ag.grouped", "rows", rows, 1, 1 << 16)})


def xcd(interp: Expressions, count: object = 8, group: object = 1) -> object:
    count_ = want.integer(interp.ctx, "ag.xcd", "count", count, 1, 64)
    return Policy("xcd", {"count": count_, "rows": want.integer(interp.ctx, "ag.xcd", "group", group, 1, 1 << 16)})


# -- storage -----------------------------------------------------------------------------------------------------------


def shared(interp: Expressions, layout: object, dtype: object, name: object = None) -> object:
    ctx = interp.ctx
    given, element = _layout(ctx, "ag.shared", layout), want.dtype(ctx, "ag.shared", "dtype", dtype)
    label = want.text(ctx, "ag.shared", "name", name) if name is not None else f"lds{len(ctx.shared)}"
    buffer = _allocate(ctx, label, given, element, 1)
    if name is None:
        ctx.unnamed.append(buffer)
    return SharedTile(buffer, given, const(0))


def ring(interp: Expressions, depth: object, **members: object) -> object:
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


def _layout(ctx: Context, function: str, value: object) -> Layout:
    if not isinstance(value, Layout):
        raise ctx.error("AG112", function=function, problem=f"it needs an ag.Layout, not {arithmetic.describe(value)}")
    return value


def _rounded(size: int) -> int:
    return -(-size // LDS_ALIGN) * LDS_ALIGN


def _allocate(ctx: Context, name: str, layout: Layout, element: DType, copies: int) -> Shared:
    base = max((b.base + b.bytes for b in ctx.shared), default=0)
    size = _rounded(layout.size_bytes) * copies
    if base + size > LDS_BYTES:
        used = ", ".join(f"{b.name} {b.bytes:,}" for b in ctx.shared)
        raise ctx.error(
            "AG310",
            *([f"already used: {used} bytes"] if used else []),
            size=f"{size:,}",
            total=f"{base + size:,}",
            limit=f"{LDS_BYTES:,}",
        )
    buffer = Shared(name, element, size, base, str(layout), ctx.span)
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
            raise ctx.error("AG112", function=fn, problem=f"`at` is dict(axis=index, …) with axes of {', '.join(dist.axes)}")
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


def _own_count(dist: tiles.Distribution, element: DType) -> int:
    """Elements of one matrix instruction's accumulator, else a natural piece."""
    found = matrix(dist.inst) if dist.inst else None
    if found is not None and dist.role == "acc" and dist.count % found.row.d_elements == 0:
        return found.row.d_elements
    return tiles.natural_chunk(dist.count)


# -- loops -------------------------------------------------------------------------------------------------------------


def loop_range(interp: Expressions, *bounds: object, step: object = 1) -> object:
    ctx = interp.ctx
    if len(bounds) == 3:
        *bounds_, step = bounds
        bounds = tuple(bounds_)
    if len(bounds) not in (1, 2):
        raise ctx.error(
            "AG112",
            function="ag.range",
            problem=f"it takes range(n), range(lo, hi) or range(lo, hi, step), not {len(bounds)} bounds",
        )
    ends = [want.index(ctx, "ag.range", "a bound", b) for b in bounds]
    low, high = (const(0), ends[0]) if len(ends) == 1 else (ends[0], ends[1])
    for end in (low, high):
        if ctx.level(end) != "block":
            raise ctx.error("AG504", bound=str(end), who="lanes" if ctx.level(end) == "lane" else "waves")
    return Range(low, high, want.integer(ctx, "ag.range", "step", step, 1, 1 << 20))


def unroll(interp: Expressions, *counts: object) -> object:
    ctx = interp.ctx
    if not counts:
        raise ctx.error("AG112", function="ag.unroll", problem="it needs at least one count")
    axes: list[range] = []
    total = 1
    for c in counts:
        if isinstance(c, Expr):
            raise ctx.error("AG510", bound=str(c))
        n = want.integer(ctx, "ag.unroll", "count", c, 0, 1 << 20)
        axes.append(range(n))
        total *= n
    if total > MAX_LENGTH:
        raise ctx.error("AG115", what="an unrolled loop", limit=f"{MAX_LENGTH:,} copies")
    return Unroll(tuple(p[0] if len(p) == 1 else p for p in product(*axes)))


# -- instructions ------------------------------------------------------------------------------------------------------


def barrier(interp: Expressions, bare: object = False) -> None:
    ctx = interp.ctx
    for level, span in ctx.divergence:
        if level != "block":
            from argus.lang.errors import Note

            raise ctx.error("AG506", Note("the branch is decided here", span), who="lanes" if level == "lane" else "waves")
    ctx.b.barrier(want.flag(ctx, "ag.barrier", "bare", bare))


def wait(interp: Expressions, vm: object = None, lgkm: object = None) -> None:
    ctx = interp.ctx
    if vm is None and lgkm is None:
        raise ctx.error("AG112", function="ag.wait", problem="say what to wait for: vm= (global memory) or lgkm= (LDS)")
    ctx.b.wait(
        None if vm is None else want.integer(ctx, "ag.wait", "vm", vm, 0, 63),
        None if lgkm is None else want.integer(ctx, "ag.wait", "lgkm", lgkm, 0, 15),
    )


def setprio(interp: Expressions, priority: object) -> None:
    interp.ctx.b.append(SetPrio(priority=want.integer(interp.ctx, "ag.setprio", "priority", priority, 0, 3)))


def mfma(interp: Expressions, a: object, b: object, c: object) -> object:
    ctx = interp.ctx
    acc = want.tile(ctx, "ag.mfma", "c", c)
    operands = [want.tile(ctx, "ag.mfma", n, t) for n, t in (("a", a), ("b", b))]
    name = acc.dist.inst or next((t.dist.inst for t in operands if t.dist.inst), "")
    found = matrix(name) if name else None
    if found is None:
        raise ctx.error("AG406", problem="none of the operands says which matrix instruction it belongs to")
    return multiply(interp, found, operands[0], operands[1], acc)


def multiply(interp: Expressions, inst: Matrix, a: Tile, b: Tile, c: Tile) -> Tile:
    """One matrix instruction on whole operands."""
    ctx = interp.ctx
    for level, span in ctx.divergence:
        if level == "lane":
            from argus.lang.errors import Note

            raise ctx.error("AG511", Note("the branch is decided here", span), what=inst.name)
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
        return arithmetic.folded(E.select(arithmetic.condition(ctx, condition), E.as_expr(x), E.as_expr(y)))  # type: ignore[arg-type]
    if isinstance(condition, bool):
        return x if condition else y
    like = next((t for t in (x, y) if isinstance(t, Tile)), None)
    if like is None:
        raise ctx.error("AG112", function="ag.where", problem="one of its values must be a tile")
    if isinstance(condition, Expr):
        condition = Coordinates(tiles.SCALAR, (arithmetic.condition(ctx, condition),))
    mask = want.tile(ctx, "ag.where", "condition", condition)
    return tiles.elementwise(ctx, "select", mask, arithmetic.to_tile(ctx, x, like), arithmetic.to_tile(ctx, y, like))


def _unary(name: str) -> Call:
    def call(interp: Expressions, x: object) -> object:
        return tiles.elementwise(interp.ctx, name, want.tile(interp.ctx, f"ag.{name}", "x", x))

    return call


def _extreme(name: str) -> Call:
    def call(interp: Expressions, x: object, y: object) -> object:
        ctx = interp.ctx
        like = next((t for t in (x, y) if isinstance(t, Tile)), None)
        if like is not None:
            return tiles.elementwise(ctx, name, arithmetic.to_tile(ctx, x, like), arithmetic.to_tile(ctx, y, like))
        if arithmetic.is_index(x) and arithmetic.is_index(y):
            fn = E.maximum if name == "max" else E.minimum
            return arithmetic.folded(fn(E.as_expr(x), E.as_expr(y)))  # type: ignore[arg-type]
        if arithmetic.is_number(x) and arithmetic.is_number(y):
            return max(x, y) if name == "max" else min(x, y)  # type: ignore[type-var]
        raise ctx.error(
            "AG112",
            function=f"ag.{name}",
            problem=f"it takes two tiles, indices or numbers, not {arithmetic.describe(x)} and {arithmetic.describe(y)}",
        )

    return call


def fma(interp: Expressions, x: object, y: object, z: object) -> object:
    ctx = interp.ctx
    like = next((t for t in (x, y, z) if isinstance(t, Tile)), None)
    if like is None:
        raise ctx.error("AG112", function="ag.fma", problem="one of its arguments must be a tile")
    return tiles.elementwise(ctx, "fma", *(arithmetic.to_tile(ctx, v, like) for v in (x, y, z)))


def cdiv(interp: Expressions, x: object, y: object) -> object:
    ctx = interp.ctx
    a, b = want.index(ctx, "ag.cdiv", "x", x), want.index(ctx, "ag.cdiv", "y", y)
    import ast

    return arithmetic.index_binary(ctx, ast.FloorDiv, a + b - 1, b)


def schedule(interp: Expressions, order: object = None, **ratios: object) -> object:
    ctx = interp.ctx
    params: dict[str, int | str] = {}
    if order is not None:
        params["order"] = want.text(ctx, "ag.schedule", "order", order)
    for name, ratio in ratios.items():
        if name not in grids.SCHEDULE_CLASSES:
            raise ctx.error("AG602", name=name, known=", ".join(grids.SCHEDULE_CLASSES))
        params[name] = want.integer(ctx, "ag.schedule", name, ratio, 1, 64)
    return Policy("schedule", params)


def number_of(dtype: DType) -> Call:
    """`f32(1.5)`: a scalar tile of a number or an index."""

    def call(interp: Expressions, x: object) -> object:
        ctx = interp.ctx
        if isinstance(x, (int, float)):
            return tiles.constant(ctx, x, dtype, tiles.SCALAR)
        if isinstance(x, (Expr, Coordinates)):
            from argus.lang.convert import convert

            data = arithmetic.index_as_data(ctx, x) if isinstance(x, Expr) else tiles.materialise(ctx, x)
            return convert(ctx, data, dtype)
        raise ctx.error("AG112", function=dtype.name, problem=f"it takes a number or an index, not {arithmetic.describe(x)}")

    return call


# -- static functions of Python ----------------------------------------------------------------------------------------


def _static_range(interp: Expressions, *bounds: object) -> object:
    ctx = interp.ctx
    for b in bounds:
        if isinstance(b, Expr):
            raise ctx.error("AG513", bound=str(b))
    if not 1 <= len(bounds) <= 3 or (len(bounds) == 3 and bounds[2] == 0):
        raise ctx.error("AG112", function="range", problem="it takes one to three whole numbers, and a step other than 0")
    made = range(*(want.integer(ctx, "range", "a bound", b, -(1 << 31)) for b in bounds))
    if len(made) > MAX_LENGTH:
        raise ctx.error("AG115", what="a range", limit=f"{MAX_LENGTH:,} steps")
    return made


def _sized(name: str, fn: Callable[[list[Any]], object]) -> Call:
    def call(interp: Expressions, items: object) -> object:
        found = interp.static_items(items, _Nowhere)
        try:
            return fn(found)
        except (TypeError, ValueError):
            raise interp.ctx.error("AG112", function=name, problem="it takes numbers known when reading")

    return call


class _NowhereType:
    """A node without a place: the error is shown at the call."""


_Nowhere: Any = _NowhereType()


def _length(interp: Expressions, items: object) -> object:
    if isinstance(items, str):
        return len(items)
    return len(interp.static_items(items, _Nowhere))


def _folded_extreme(name: str) -> Call:
    def call(interp: Expressions, *items: object) -> object:
        ctx = interp.ctx
        values = interp.static_items(items[0], _Nowhere) if len(items) == 1 else list(items)
        if not values:
            raise ctx.error("AG112", function=name, problem="it needs at least one value")
        total = values[0]
        for v in values[1:]:
            total = _extreme(name)(interp, total, v)
        return total

    return call


def _sum(interp: Expressions, items: object, start: object = 0) -> object:
    import ast

    total = start
    for position, item in enumerate(interp.static_items(items, _Nowhere)):
        total = (
            item
            if position == 0 and start == 0 and isinstance(item, Tile)
            else arithmetic.binary(interp.ctx, ast.Add(), total, item)
        )
    return total


def _enumerate(interp: Expressions, items: object) -> object:
    return list(enumerate(interp.static_items(items, _Nowhere)))


def _zip(interp: Expressions, *items: object) -> object:
    lists = [interp.static_items(i, _Nowhere) for i in items]
    if len({len(x) for x in lists}) > 1:
        raise interp.ctx.error("AG112", function="zip", problem="its lists have different lengths")
    return list(zip(*lists, strict=True))


def _dict(interp: Expressions, **entries: object) -> object:
    return dict(entries)


def _absolute(interp: Expressions, x: object) -> object:
    if isinstance(x, Tile):
        return tiles.elementwise(interp.ctx, "abs", x)
    if isinstance(x, (int, float)):
        return abs(x)
    raise interp.ctx.error("AG112", function="abs", problem=f"it takes a number or a tile, not {arithmetic.describe(x)}")


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

CONSTANTS: dict[str, object] = {
    **DTYPES,
    "inf": math.inf,
    "LOG2E": math.log2(math.e),
    "In": Annotation("in"),
    "Out": Annotation("out"),
    "InOut": Annotation("inout"),
    "const": Annotation("const"),
}

FUNCTIONS: dict[str, Call] = {
    "grid": grid,
    "wave": wave,
    "lane": lane,
    "thread": thread,
    "row_major": row_major,
    "grouped": grouped,
    "xcd": xcd,
    "shared": shared,
    "ring": ring,
    "zeros": zeros,
    "full": full,
    "range": loop_range,
    "unroll": unroll,
    "barrier": barrier,
    "wait": wait,
    "setprio": setprio,
    "mfma": mfma,
    "where": where,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "fma": fma,
    "cdiv": cdiv,
    "schedule": schedule,
    **{name: _unary(name) for name in ("exp2", "log2", "rcp", "rsqrt", "sqrt", "floor", "abs")},
}
