"""Methods that move data: tensors and LDS buffers to and from registers, straight from global memory to LDS, atomics.

    ra = A[bm*BM, kt*BK].load(COPY_A, width=16)
    sA.store(ra, width=16)
    A[bm*BM, kt*BK].copy(sA, COPY_A, width=4)                    global to LDS without registers
    C[m0, n0].store(acc.to(bf16), width=8, guard=lambda m, n: m0 + m < M)
    C[m0, n0].atomic_add(acc, width=4)

`guard` is a condition per thread; as a function it is asked for every access with the tile's coordinates. The guard
"shape" compares every coordinate with both ends of its axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from argus.ir.ops import Tensor
from argus.lang import arguments as want
from argus.lang import arithmetic, memory, tiles
from argus.lang.context import ReadContext
from argus.lang.distribution import Distribution
from argus.lang.invoke import Call
from argus.lang.values import FileFunction, SharedTile, TensorView, Tile
from argus.layout import expr as E
from argus.layout.expr import Expr, const
from argus.layout.layout import Layout

if TYPE_CHECKING:
    from argus.lang.expressions import Expressions

ATOMICS = ("add", "max", "min")
ATOMIC_TYPES = {
    "add": ("f32", "f64", "i32", "u32"),
    "max": ("f32", "f64", "i32", "u32"),
    "min": ("f32", "f64", "i32", "u32"),
}


def _view(value: Tensor | TensorView) -> TensorView:
    return value if isinstance(value, TensorView) else TensorView(value, tuple(const(0) for _ in value.axes))


def load(
    interp: Expressions,
    place: Tensor | TensorView,
    owner: object,
    *,
    width: object,
    tiles: object = None,
    guard: object = None,
) -> object:
    ctx, view = interp.ctx, _view(place)
    if not view.tensor.read:
        raise ctx.error("AG314", tensor=view.tensor.name)
    dist = want.distribution(ctx, "load", owner, tiles)
    size = want.integer(ctx, "load", "width", width, 1, 64)
    test = _guard(interp, "load", guard, view, dist, size)
    return memory.load(ctx, memory.global_accesses(ctx, view, dist, size, test), dist)


def store(
    interp: Expressions,
    place: Tensor | TensorView,
    value: object,
    owner: object = None,
    *,
    width: object,
    guard: object = None,
) -> None:
    ctx, view = interp.ctx, _view(place)
    tile = _stored(ctx, view.tensor.name, view.tensor.dtype, value)
    if not view.tensor.written:
        raise ctx.error("AG313", tensor=view.tensor.name)
    dist = _held_by(ctx, tile, owner)
    size = want.integer(ctx, "store", "width", width, 1, 64)
    test = _guard(interp, "store", guard, view, dist, size)
    memory.store(ctx, memory.global_accesses(ctx, view, dist, size, test), tile)


def shared_load(
    interp: Expressions,
    place: SharedTile,
    /,
    owner: object,
    *,
    width: object,
    tiles: object = None,
    guard: object = None,
    **offsets: object,
) -> object:
    ctx = interp.ctx
    dist = want.distribution(ctx, "load", owner, tiles)
    size = want.integer(ctx, "load", "width", width, 1, 16)
    where = _placement(ctx, place, dist, offsets)
    test = _guard(interp, "load", guard, None, dist, size)
    return memory.load(ctx, memory.shared_accesses(ctx, place, dist, size, where, test), dist)


def shared_store(
    interp: Expressions,
    place: SharedTile,
    /,
    value: object,
    owner: object = None,
    *,
    width: object,
    guard: object = None,
    **offsets: object,
) -> None:
    ctx = interp.ctx
    tile = _stored(ctx, place.buffer.name, place.buffer.dtype, value)
    dist = _held_by(ctx, tile, owner)
    size = want.integer(ctx, "store", "width", width, 1, 16)
    where = _placement(ctx, place, dist, offsets)
    test = _guard(interp, "store", guard, None, dist, size)
    memory.store(ctx, memory.shared_accesses(ctx, place, dist, size, where, test), tile)


def shared_view(interp: Expressions, place: SharedTile, layout: object) -> SharedTile:
    """The same bytes addressed through another layout."""
    ctx = interp.ctx
    if not isinstance(layout, Layout):
        raise ctx.error("AG301", problem=f"it is {arithmetic.describe(layout)}")
    if layout.size_bytes > place.layout.size_bytes:
        problem = f"it covers {layout.size_bytes} bytes of `{place.buffer.name}`, which has {place.layout.size_bytes}"
        raise ctx.error("AG301", problem=problem)
    return SharedTile(place.buffer, layout, place.shift)


def copy(
    interp: Expressions,
    place: Tensor | TensorView,
    /,
    into: object,
    owner: object,
    *,
    width: object,
    tiles: object = None,
    guard: object = None,
    **offsets: object,
) -> None:
    """Global memory straight to LDS; lane i of a wave lands 4·i bytes after lane 0."""
    ctx, view = interp.ctx, _view(place)
    if not view.tensor.read:
        raise ctx.error("AG314", tensor=view.tensor.name)
    if not isinstance(into, SharedTile):
        raise ctx.error(
            "AG112", function="copy", problem=f"it copies into an LDS buffer, not {arithmetic.describe(into)}"
        )
    if into.buffer.dtype != view.tensor.dtype:
        raise ctx.error("AG311", target=into.buffer.name, wanted=into.buffer.dtype, got=view.tensor.dtype)
    size = want.integer(ctx, "copy", "width", width, 1, 16)
    if size not in (1, 2, 4):
        raise ctx.error("AG306", width=size, legal="1, 2, 4")
    dist = want.distribution(ctx, "copy", owner, tiles)
    test = _guard(interp, "copy", guard, view, dist, size)
    sources = memory.global_accesses(ctx, view, dist, size, test)
    targets = memory.shared_accesses(ctx, into, dist, size, _placement(ctx, into, dist, offsets), lambda _: None)
    for source, target in zip(sources, targets, strict=True):
        lane = next((v for v in target.address.free() if v.name == "lane"), None)
        base = target.address if lane is None else target.address.subst({lane: const(0)})
        gap = target.address - base
        for point in memory.samples(gap):
            found = memory.on_threads(ctx, gap, point)
            wanted = memory.on_threads(ctx, ctx.lane * 4)
            if (found != wanted).any():
                thread = int((found != wanted).argmax())
                raise ctx.error("AG603", lane=thread % 64, found=int(found[thread]), wanted=int(wanted[thread]))
        ctx.b.copy_to_lds(source, into.buffer, base)


def _atomic(fn: str) -> Call:
    def call(
        interp: Expressions,
        place: Tensor | TensorView,
        value: object,
        owner: object = None,
        *,
        width: object = None,
        guard: object = None,
    ) -> None:
        ctx, view = interp.ctx, _view(place)
        tile = _stored(ctx, view.tensor.name, view.tensor.dtype, value)
        if not view.tensor.written:
            raise ctx.error("AG313", tensor=view.tensor.name)
        if tile.dtype.name not in ATOMIC_TYPES[fn]:
            raise ctx.error("AG604", fn=f"atomic_{fn}", dtype=tile.dtype, legal=", ".join(ATOMIC_TYPES[fn]))
        size = tile.dtype.bytes if width is None else want.integer(ctx, f"atomic_{fn}", "width", width, 1, 64)
        if size != tile.dtype.bytes:
            raise ctx.error("AG306", width=size, legal=str(tile.dtype.bytes))
        dist = _held_by(ctx, tile, owner)
        test = _guard(interp, f"atomic_{fn}", guard, view, dist, size)
        pieces = tiles.regroup(ctx, tile, 1).pieces
        for access, piece in zip(memory.global_accesses(ctx, view, dist, size, test), pieces, strict=True):
            ctx.b.atomic(fn, access, piece)

    call.__name__ = f"atomic_{fn}"
    return call


def as_index(interp: Expressions, value: object, low: object, high: object, name: object = "index") -> object:
    """The integer a thread holds, as an index. The stated bounds are an obligation of the launch."""
    ctx = interp.ctx
    tile = want.tile(ctx, "ag.as_index", "value", value)
    if tile.count != 1 or tile.dtype.kind not in ("int", "uint"):
        raise ctx.error("AG605", count=tile.count, dtype=tile.dtype)
    least, most = want.index(ctx, "ag.as_index", "low", low), want.index(ctx, "ag.as_index", "high", high)
    lo, hi = least.bounds()[0], most.bounds()[1]
    if lo is None or (hi is not None and hi < lo):
        raise ctx.error("AG112", function="ag.as_index", problem=f"no value lies between {least} and {most}")
    label = want.text(ctx, "ag.as_index", "name", name)
    if not label.isidentifier():
        raise ctx.error("AG112", function="ag.as_index", problem=f"`name` is a word, not {label!r}")
    symbol = ctx.fresh_variable(label, lo, hi)
    ctx.read_indices.append(symbol)
    ctx.varying[symbol] = ctx.data_level.get(tile.pieces[0], "lane")
    facts = tuple(f for f in (symbol.ge(least), symbol.le(most)) if f.op != "const")
    ctx.b.symbol(tile.pieces[0], symbol, facts)
    return symbol


def _stored(ctx: ReadContext, name: str, element: object, value: object) -> Tile:
    tile = want.tile(ctx, "store", "value", value)
    if tile.dtype != element:
        raise ctx.error("AG311", target=name, wanted=element, got=tile.dtype)
    return tile


def _held_by(ctx: ReadContext, tile: Tile, owner: object) -> Distribution:
    """The tile's own distribution; an owner that is written again must be the same one."""
    if owner is None:
        return tile.dist
    stated = want.distribution(ctx, "store", owner)
    if stated.count != tile.count or not (stated.same_as(tile.dist)):
        raise ctx.error("AG312")
    return tile.dist


def _placement(
    ctx: ReadContext, place: SharedTile, dist: Distribution, offsets: Mapping[str, object]
) -> dict[str, tuple[str, Expr]]:
    """Layout axis -> (tile axis or "", offset)."""
    axes = memory.layout_axes(place.layout)
    unknown = [a for a in offsets if a not in axes]
    if unknown:
        raise ctx.error("AG304", problem=f"the buffer has axes {', '.join(axes)}, not `{unknown[0]}`")
    made: dict[str, tuple[str, Expr]] = {}
    used: set[str] = set()
    for axis in axes:
        given = offsets.get(axis)
        source = axis if axis in dist.axes else ""
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):
            source, given = given[0], given[1]
        elif isinstance(given, str):
            source, given = given, 0
        if source and source not in dist.axes:
            raise ctx.error("AG304", problem=f"the tile has axes {', '.join(dist.axes)}, not `{source}`")
        if not source and given is None:
            raise ctx.error(
                "AG304",
                problem=f"nothing says where along `{axis}` of the buffer the tile ({', '.join(dist.axes)}) goes",
            )
        used.add(source)
        made[axis] = (source, const(0) if given is None else want.index(ctx, "an LDS access", axis, given))
    missing = [a for a in dist.axes if a not in used]
    if missing:
        raise ctx.error(
            "AG304", problem=f"the tile's axis `{missing[0]}` has no place in the buffer ({', '.join(axes)})"
        )
    return made


def _guard(
    interp: Expressions, function: str, guard: object, view: TensorView | None, dist: Distribution, width: int
) -> memory.Guard:
    ctx = interp.ctx
    if guard is None:
        return lambda _: None
    if guard == "shape":
        if view is None:
            raise ctx.error(
                "AG112",
                function=function,
                problem='guard="shape" compares with the shape of a tensor; an LDS buffer needs a condition',
            )
        n = memory.elements_per_access(ctx, view.tensor.dtype, dist, width, memory.GLOBAL_WIDTHS)
        return _in_shape(ctx, view, dist, n)
    if isinstance(guard, FileFunction):

        def ask(coords: Mapping[str, Expr]) -> Expr | None:
            found = interp.call_function(guard, list(coords.values()), {})
            return _condition(ctx, function, found)

        return ask
    fixed = _condition(ctx, function, guard)
    return lambda _: fixed


def _condition(ctx: ReadContext, function: str, value: object) -> Expr | None:
    if isinstance(value, bool):
        return None if value else E.as_expr(False)
    if not isinstance(value, Expr):
        raise ctx.error(
            "AG112", function=function, problem=f"`guard` is a condition on indices, not {arithmetic.describe(value)}"
        )
    return arithmetic.condition(ctx, value)


def _in_shape(ctx: ReadContext, view: TensorView, dist: Distribution, n: int) -> memory.Guard:
    """Every coordinate is on its axis; runs of n elements are whole where n divides the extent and where they begin.
    A coordinate that is never negative is compared with the end only."""
    placed = memory.match_tensor_axes(ctx, view, dist)
    run = memory.run_axis(ctx, dist, n, n * view.tensor.dtype.bytes)
    if run is not None:
        extent = view.tensor.shape[placed[run]]
        if not ctx.divides(n, extent) or not ctx.divides(n, view.origin[placed[run]]):
            raise ctx.error("AG317", axis=view.tensor.axes[placed[run]], n=n)

    def test(local: Mapping[str, Expr]) -> Expr | None:
        parts: list[Expr] = []
        for axis, origin in enumerate(view.origin):
            here = origin
            for name, e in local.items():
                if placed[name] == axis:
                    here = here + e
            least = here.bounds()[0]
            parts += [here.ge(0)] if least is None or least < 0 else []
            parts.append(here.lt(view.tensor.shape[axis]))
        found = E.land(*parts)
        return None if found.op == "const" and found.value else found

    return test


GLOBAL: dict[str, Call] = {
    "load": load,
    "store": store,
    "copy": copy,
    **{f"atomic_{fn}": _atomic(fn) for fn in ATOMICS},
}
SHARED: dict[str, Call] = {"load": shared_load, "store": shared_store, "view": shared_view}
FUNCTIONS: dict[str, Call] = {"as_index": as_index}
