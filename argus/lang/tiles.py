"""Operations on register tiles: indexing, regrouping, elementwise arithmetic with broadcasting, conversion.

    s * scale          every element times a number each thread holds
    s - top            s over (Sk, Sq), top over (Sq): an element of s meets the element of top with the same Sq
    acc[i, j]          the part with the first two digits fixed

Broadcasting is by coordinate, never by position: two tiles combine when every axis of the smaller one is an axis of
the larger and each element of the larger finds, *in the same thread*, the one element of the smaller that agrees on
those axes. A tile without axes (a scalar argument, a constant) meets everything.
"""

from __future__ import annotations

from math import isfinite

from argus.ir.float_formats import FINITE, nearest
from argus.ir.maps import MAPS
from argus.ir.types import DType, Value, boolean, i32
from argus.lang.context import ReadContext
from argus.lang.distribution import SCALAR, Distribution
from argus.lang.values import Coordinates, Tile
from argus.layout import expr as E
from argus.layout.expr import Expr, as_expr

Element = tuple[Value, int]

SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=="}

WIDE_CHUNK = 32
"""Registers per value where nothing else decides."""

MASK_CHUNK = 8


def elements(tile: Tile) -> list[Element]:
    return [(v, n) for v in tile.pieces for n in range(v.count)]


def collect(ctx: ReadContext, items: list[Element]) -> Value:
    """One value of these elements; the elements of one whole value, in order, are that value."""
    first, _ = items[0]
    if len(items) == first.count and all(v is first and n == i for i, (v, n) in enumerate(items)):
        return first
    args: list[Value] = []
    for v, _ in items:
        if v not in args:
            args.append(v)
    return ctx.b.registers(tuple(args), tuple((args.index(v), n) for v, n in items))


def regroup(ctx: ReadContext, tile: Tile, chunk: int) -> Tile:
    """The same tile in pieces of `chunk` elements."""
    if tile.chunk == chunk:
        return tile
    items = elements(tile)
    groups = [items[i : i + chunk] for i in range(0, len(items), chunk)]
    return Tile(tile.dtype, tile.dist, tuple(collect(ctx, g) for g in groups))


def natural_chunk(count: int, most: int = WIDE_CHUNK) -> int:
    """The largest piece size up to `most` that divides the count."""
    return next(c for c in range(min(count, most), 0, -1) if count % c == 0)


def check_index(ctx: ReadContext, tile: Tile, index: tuple[object, ...]) -> tuple[int, ...]:
    shape = ", ".join(f"{name}={n}" for name, n in tile.dist.digits) or "a single element"
    if len(index) > len(tile.dist.digits):
        raise ctx.error("AG403", problem=f"{len(index)} indices are too many", shape=shape)
    fixed: list[int] = []
    for position, (name, extent) in zip(index, tile.dist.digits, strict=False):
        if isinstance(position, Expr) and position.op == "const":
            position = position.value
        if not isinstance(position, int) or isinstance(position, bool):
            raise ctx.error("AG414", name=name)
        if not -extent <= position < extent:
            raise ctx.error("AG403", problem=f"{name} = {position} is outside 0..{extent - 1}", shape=shape)
        fixed.append(position % extent)
    return tuple(fixed)


def fix(ctx: ReadContext, tile: Tile, index: tuple[int, ...]) -> Tile:
    """`tile[i, j]`: the part with the first digits fixed."""
    dist, start = tile.dist.fix(index)
    return pick(ctx, tile, dist, range(start, start + dist.count))


def pick(ctx: ReadContext, tile: Tile, dist: Distribution, chosen: range | list[int]) -> Tile:
    """The chosen elements as a tile; whole pieces stay whole."""
    items = elements(tile)
    wanted = [items[i] for i in chosen]
    chunk = tile.chunk if dist.count % tile.chunk == 0 else natural_chunk(dist.count)
    groups = [wanted[i : i + chunk] for i in range(0, len(wanted), chunk)]
    return Tile(tile.dtype, dist, tuple(collect(ctx, g) for g in groups))


def update(ctx: ReadContext, tile: Tile, index: tuple[int, ...], part: Tile) -> Tile:
    """The tile with the part at `index` replaced."""
    dist, start = tile.dist.fix(index)
    if part.dtype != tile.dtype:
        raise ctx.error("AG401", what="the assigned part", left=tile.dtype, right=part.dtype)
    if part.count != dist.count:
        raise ctx.error("AG402", left=f"{dist.count} elements per thread", right=f"{part.count}")
    chunk = tile.chunk if dist.count % tile.chunk == 0 else part.chunk
    whole, piece = regroup(ctx, tile, chunk), regroup(ctx, part, chunk)
    pieces = list(whole.pieces)
    pieces[start // chunk : (start + dist.count) // chunk] = piece.pieces
    return Tile(tile.dtype, tile.dist, tuple(pieces))


def splat(ctx: ReadContext, value: Value, count: int) -> Value:
    """`count` copies of a one-element value."""
    return value if count == 1 else ctx.b.registers((value,), ((0, 0),) * count)


def constant(ctx: ReadContext, number: float | int, dtype: DType, dist: Distribution, chunk: int = 0) -> Tile:
    """A tile whose elements are all `number`."""
    if isinstance(number, float) and dtype.kind != "float":
        raise ctx.error("AG408", number=number, dtype=dtype)
    if dtype.kind in ("int", "uint"):
        low = -(1 << (dtype.bits - 1)) if dtype.kind == "int" else 0
        if not low <= int(number) < low + (1 << dtype.bits):
            raise ctx.error("AG408", number=number, dtype=dtype)
    elif dtype.name in FINITE and not isfinite(number):
        raise ctx.error("AG408", number=number, dtype=dtype)
    elif dtype.kind == "float" and isfinite(number):
        found = nearest(number, dtype)
        if not isfinite(found) or (number and not found):
            raise ctx.error("AG408", number=number, dtype=dtype)
    chunk = chunk or natural_chunk(dist.count)
    value = ctx.b.constant(float(number) if dtype.kind == "float" else int(number), dtype, chunk)
    return Tile(dtype, dist, (value,) * (dist.count // chunk))


def materialise(ctx: ReadContext, c: Coordinates) -> Tile:
    """Coordinates as data: i32 for indices, a mask for conditions."""
    if c.boolean:
        return _mask(ctx, c)
    chunk = natural_chunk(len(c.exprs))
    starts = range(0, len(c.exprs), chunk)
    return Tile(i32, c.dist, tuple(_indices(ctx, c.exprs[i : i + chunk]) for i in starts))


def _indices(ctx: ReadContext, exprs: tuple[Expr, ...]) -> Value:
    """Indices as one value."""
    made = {e: ctx.b.index(e) for e in dict.fromkeys(exprs)}
    return collect(ctx, [(made[e], 0) for e in exprs])


def _mask(ctx: ReadContext, c: Coordinates) -> Tile:
    """A condition per element: differences compared with 0, a few elements at a time so that few are live at once."""
    ops = {e.op for e in c.exprs}
    op = next(iter(ops))
    if len(ops) == 1 and op in ("lt", "le", "eq", "ne"):
        numbers = tuple(e.args[0] - e.args[1] for e in c.exprs)
    else:
        # Mixed forms (some elements decided outright, connectives): the truth value as 0 or 1, compared with 0.
        op, numbers = "ne", tuple(_truth(e) for e in c.exprs)
    chunk = natural_chunk(len(numbers), MASK_CHUNK)
    zero = ctx.b.constant(0, i32, chunk)
    starts = range(0, len(numbers), chunk)
    return Tile(boolean, c.dist, tuple(ctx.b.map(op, _indices(ctx, numbers[i : i + chunk]), zero) for i in starts))


def _truth(e: Expr) -> Expr:
    return E.as_expr(e.value) + 0 if e.op == "const" else E.select(e, as_expr(1), as_expr(0))


def map_pieces(ctx: ReadContext, fn: str, args: list[Tile]) -> Tile:
    """Elementwise `fn` over tiles of one distribution."""
    ctx.spend(args[-1].count)
    chunk = min(t.chunk for t in args)
    args = [regroup(ctx, t, chunk) for t in args]
    made: dict[tuple[Value, ...], Value] = {}
    pieces: list[Value] = []
    for group in zip(*(t.pieces for t in args), strict=True):
        if group not in made:
            made[group] = ctx.b.map(fn, *group)
        pieces.append(made[group])
    dtype = boolean if MAPS[fn].out == "bool" else args[-1].dtype
    return Tile(dtype, args[-1].dist, tuple(pieces))


def broadcast(ctx: ReadContext, tile: Tile, dist: Distribution, chunk: int) -> Tile:
    """`tile` spread over `dist` by matching coordinates."""
    if tile.dist.same_as(dist):
        return Tile(tile.dtype, dist, tile.pieces)
    if tile.count == 1 and not tile.dist.axes:
        return Tile(tile.dtype, dist, (splat(ctx, tile.pieces[0], chunk),) * (dist.count // chunk))
    missing = [a for a in tile.dist.axes if a not in dist.axes]
    if missing:
        raise ctx.error("AG402", left=_axes_text(dist), right=_axes_text(tile.dist))
    where: dict[tuple[Expr, ...], int] = {}
    for j in range(tile.count):
        where[tuple(tile.dist.coords(j).values())] = j
    if len(where) != tile.count:
        twice = "several elements of a thread have the same coordinates in the smaller tile"
        raise ctx.error("AG402", twice, left=_axes_text(dist), right=_axes_text(tile.dist))
    chosen: list[int] = []
    for i in range(dist.count):
        coords = dist.coords(i)
        key = tuple(coords[a] for a in tile.dist.axes)
        if key not in where:
            point = ", ".join(f"{a} = {e}" for a, e in zip(tile.dist.axes, key, strict=True))
            raise ctx.error("AG402", f"no element of the smaller tile is at {point} in the same thread",
                     left=_axes_text(dist), right=_axes_text(tile.dist))  # fmt: skip
        chosen.append(where[key])
    items = elements(tile)
    wanted = [items[j] for j in chosen]
    groups = [wanted[i : i + chunk] for i in range(0, len(wanted), chunk)]
    made: dict[tuple[Element, ...], Value] = {}
    for g in groups:
        if tuple(g) not in made:
            made[tuple(g)] = collect(ctx, g)
    return Tile(tile.dtype, dist, tuple(made[tuple(g)] for g in groups))


def _axes_text(dist: Distribution) -> str:
    return f"({', '.join(dist.axes)}) with {dist.count} elements per thread"


def common(ctx: ReadContext, tiles: list[Tile]) -> list[Tile]:
    """Spread tiles over the largest of them."""
    largest = max(tiles, key=lambda t: (len(t.dist.axes), t.count))
    return [broadcast(ctx, t, largest.dist, largest.chunk) for t in tiles]


def elementwise(ctx: ReadContext, fn: str, *args: Tile) -> Tile:
    """Elementwise `fn` of tiles of one element type, spread by coordinates."""
    spec = MAPS[fn]
    data = args[1:] if fn == "select" else args
    for t in data[1:]:
        if t.dtype != data[0].dtype:
            raise ctx.error("AG401", what=f"`{SYMBOLS.get(fn, fn)}`", left=data[0].dtype, right=t.dtype)
    if fn == "select" and args[0].dtype != boolean:
        raise ctx.error("AG412", dtype=args[0].dtype)
    of = data[0].dtype
    if not spec.has(of.kind, of.name):
        kinds = ", ".join(sorted(spec.kinds)) + (" of at most 32 bits" if of.kind in spec.kinds else "")
        raise ctx.error("AG413", fn=fn, dtype=of, kinds=kinds)
    return map_pieces(ctx, fn, common(ctx, list(args)))


def scalar(value: Value) -> Tile:
    return Tile(value.dtype, SCALAR, (value,))
