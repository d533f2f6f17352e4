"""Touching memory: a tile's elements and a place give one access per `width` bytes.

    A[bm*BM, kt*BK].load(COPY_A, width=16)      global: origin plus the owner's coordinates, times strides
    sA.load(FRAG, row=64*wm, k=16*ks, width=16) LDS: the layout turns coordinates into a byte address

The program says *which element*, the layout says *where*, and `width` says how many bytes one instruction moves. The
elements of one instruction must lie next to each other; this is decided here, on every thread of the workgroup, from
the owner (and for LDS from the layout), and a width that does not fit is an error with the first two elements that are
apart. What needs the sizes of the launch (alignment of rows, bounds) is left to the checker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from argus.ir.kernel import WAVE
from argus.ir.ops import Access
from argus.ir.types import DType
from argus.lang.context import ACCESS_EFFORT, ReadContext
from argus.lang.distribution import Distribution
from argus.lang.tiles import regroup
from argus.lang.values import SharedTile, TensorView, Tile
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError, const
from argus.layout.layout import Layout

GLOBAL_WIDTHS = (1, 2, 4, 8, 12, 16)
LDS_WIDTHS = (1, 2, 4, 8, 12, 16)
Guard = Callable[[Mapping[str, Expr]], Expr | None]


def elements_per_access(ctx: ReadContext, dtype: DType, dist: Distribution, width: int, legal: tuple[int, ...]) -> int:
    """How many elements `width` bytes are, checked against the instruction set and the tile."""
    if width not in legal:
        raise ctx.error("AG306", width=width, legal=", ".join(map(str, legal)))
    if width % dtype.bytes:
        raise ctx.error("AG308", width=width, what=f"{dtype} elements of {dtype.bytes} bytes")
    n = width // dtype.bytes
    if dist.count % n:
        raise ctx.error("AG308", width=width, what=f"the {dist.count} {dtype} elements each thread holds")
    return n


def global_accesses(ctx: ReadContext, view: TensorView, dist: Distribution, width: int, guard: Guard) -> list[Access]:
    """The accesses of a tile on a tensor, in element order."""
    tensor = view.tensor
    n = elements_per_access(ctx, tensor.dtype, dist, width, GLOBAL_WIDTHS)
    axis_of = match_tensor_axes(ctx, view, dist)
    axis = run_axis(ctx, dist, n, width)
    position = len(tensor.axes) - 1 if axis is None else axis_of[axis]
    if n > 1 and tensor.strides[position] is not const(1):
        far = f"neighbours along {tensor.axes[position]} are {tensor.strides[position]} elements apart in memory"
        raise ctx.error("AG307", far, width=width, n=n, first=0, second=1)
    made: list[Access] = []
    for i in range(0, dist.count, n):
        ctx.spend(ACCESS_EFFORT)
        local = dist.coords(i)
        coords = list(view.origin)
        for name, e in local.items():
            coords[axis_of[name]] = coords[axis_of[name]] + e
        flat: Expr = const(0)
        for c, s in zip(coords, tensor.strides, strict=True):
            flat = flat + c * s
        address = ctx.bounded(flat * tensor.dtype.bytes)
        made.append(Access(tensor, address, n, tuple(coords), position, guard(local)))
    return made


def match_tensor_axes(ctx: ReadContext, view: TensorView, dist: Distribution) -> dict[str, int]:
    """Which tensor axis each coordinate runs along: by name where all names match, else the last axes in order."""
    tensor = view.tensor
    by_name = {a.lower(): i for i, a in enumerate(tensor.axes)}
    wanted = [a.lower() for a in dist.axes]
    if wanted and all(a in by_name for a in wanted):
        return {a: by_name[a.lower()] for a in dist.axes}
    if len(dist.axes) > len(tensor.axes):
        raise ctx.error("AG305", tensor=tensor.name, axes=" ".join(tensor.axes), tile=", ".join(dist.axes),
                 problem=f"the tile has {len(dist.axes)} axes, the tensor only {len(tensor.axes)}")  # fmt: skip
    first = len(tensor.axes) - len(dist.axes)
    placed = {a: first + i for i, a in enumerate(dist.axes)}
    for a, i in placed.items():
        if by_name.get(a.lower(), i) != i:
            there = f"the tensor has an axis {tensor.axes[by_name[a.lower()]]}"
            problem = f"by position `{a}` would run along {tensor.axes[i]}, but {there}"
            axes, tile = " ".join(tensor.axes), ", ".join(dist.axes)
            raise ctx.error("AG305", tensor=tensor.name, axes=axes, tile=tile, problem=problem)
    return placed


def shared_accesses(
    ctx: ReadContext,
    target: SharedTile,
    dist: Distribution,
    width: int,
    place: Mapping[str, tuple[str, Expr]],
    guard: Guard,
) -> list[Access]:
    """The accesses of a tile on an LDS buffer. `place` maps a layout axis to (tile axis, offset)."""
    n = elements_per_access(ctx, target.buffer.dtype, dist, width, LDS_WIDTHS)
    run_axis(ctx, dist, n, width)
    extents = layout_axes(target.layout)
    names = tuple(place)
    made: list[Access] = []
    for i in range(0, dist.count, n):
        ctx.spend(ACCESS_EFFORT)
        coords = _placed(dist, i, place)
        address = _address(ctx, target, coords, extents)
        axis = _advancing(dist, i, place) if n > 1 else len(names) - 1
        if n > 1 and not _whole_run(ctx, target, names[axis], coords, n):
            for j in range(1, n):
                gap = _address(ctx, target, _placed(dist, i + j, place), extents) - address
                _require_gap(ctx, gap, j * target.buffer.dtype.bytes, (i, i + j), width, n)
        if n > 1:
            _require_aligned(ctx, address, width)
        made.append(Access(target.buffer, address, n, tuple(coords.values()), axis, guard(dist.coords(i))))
    return made


def _whole_run(ctx: ReadContext, target: SharedTile, axis: str, coords: Mapping[str, Expr], n: int) -> bool:
    """The run begins at a multiple of n along `axis`, where the layout keeps every such run together."""
    if (coords[axis] % n) is not const(0):
        return False
    key = (target.layout, axis, n, target.buffer.dtype.bytes)
    if key not in ctx.runs:
        ctx.runs[key] = runs_together(target.layout, axis, n, target.buffer.dtype.bytes)
    return ctx.runs[key]


def runs_together(layout: Layout, axis: str, n: int, size: int) -> bool:
    """Every n elements that start at a multiple of n along `axis` are next to each other in memory."""
    table = np.moveaxis(layout.table(), list(layout.axes).index(axis), -1)
    if table.shape[-1] % n:
        return False
    runs = table.reshape(*table.shape[:-1], -1, n)
    return bool((runs - runs[..., :1] == np.arange(n) * size).all())


def _placed(dist: Distribution, i: int, place: Mapping[str, tuple[str, Expr]]) -> dict[str, Expr]:
    local = dist.coords(i)
    return {name: (local[axis] if axis else const(0)) + offset for name, (axis, offset) in place.items()}


def _advancing(dist: Distribution, i: int, place: Mapping[str, tuple[str, Expr]]) -> int:
    here, there = _placed(dist, i, place), _placed(dist, i + 1, place)
    return next((p for p, name in enumerate(place) if here[name] is not there[name]), len(place) - 1)


def _address(ctx: ReadContext, target: SharedTile, coords: Mapping[str, Expr], extents: Mapping[str, int]) -> Expr:
    for name, e in coords.items():
        low, high = e.bounds()
        if low is not None and low >= 0 and high is not None and high < extents[name]:
            continue
        seen = reachable(ctx, e)
        if seen is not None and (seen[0] < 0 or seen[1] >= extents[name]):
            bad = seen[0] if seen[0] < 0 else seen[1]
            raise ctx.error("AG309", buffer=target.buffer.name, axis=name, value=bad, last=extents[name] - 1)
    try:
        return ctx.bounded(target.layout.address(**coords) + target.shift)
    except (ExprError, ValueError) as error:
        raise ctx.error("AG301", problem=str(error)) from None


def reachable(ctx: ReadContext, e: Expr) -> tuple[int, int] | None:
    """Smallest and largest value over the threads of a workgroup, when nothing else decides it."""
    if any(v.name not in ("lane", "wave") for v in e.free()):
        return None
    values = on_threads(ctx, e)
    return int(values.min()), int(values.max())


def on_threads(
    ctx: ReadContext, e: Expr, others: Mapping[str, int] | None = None
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """The value of `e` in every thread of a workgroup."""
    thread = np.arange(ctx.threads)
    env: dict[str, int | np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = {
        "lane": thread % WAVE,
        "wave": thread // WAVE,
    }
    return np.broadcast_to(np.asarray(E.evaluate(e, {**env, **(others or {})}), dtype=np.int64), thread.shape)


def samples(e: Expr) -> list[dict[str, int]]:
    """A few assignments of the variables that are not lane or wave."""
    names = [(v.name, v.bounds()) for v in e.free() if v.name not in ("lane", "wave")]
    if not names:
        return [{}]
    points = []
    for n in (0, 1, 2, 5):
        point = {}
        for name, (low, high) in names:
            start = low if low is not None else 0
            point[name] = start + n if high is None else min(start + n, high)
        points.append(point)
    return points


def _require_gap(ctx: ReadContext, gap: Expr, wanted: int, pair: tuple[int, int], width: int, n: int) -> None:
    if gap.op == "const" and gap.value == wanted:
        return
    for point in samples(gap):
        values = on_threads(ctx, gap, point)
        if (values != wanted).any():
            thread = int(np.argmax(values != wanted))
            raise ctx.error("AG307", f"in thread {thread} they are {int(values[thread])} bytes apart, not {wanted}",
                     width=width, n=n, first=pair[0], second=pair[1])  # fmt: skip


def _require_aligned(ctx: ReadContext, address: Expr, width: int) -> None:
    if width not in (4, 8, 16):
        return
    rest = address % width
    if rest.op == "const" and rest.value == 0:
        return
    for point in samples(rest):
        values = on_threads(ctx, rest, point)
        if values.any():
            thread = int(np.argmax(values != 0))
            raise ctx.error("AG316", width=width, thread=thread, rest=int(values[thread]))


def run_axis(ctx: ReadContext, dist: Distribution, n: int, width: int) -> str | None:
    """The axis along which every run of n elements advances by one; None for a tile without axes or single elements."""
    if n == 1 or not dist.axes:
        return None
    if (dist, n) in ctx.run_axes:
        return ctx.run_axes[dist, n]
    found: str | None = None
    for i in range(0, dist.count, n):
        base = dist.coords(i)
        for j in range(1, n):
            here = dist.coords(i + j)
            moved = [a for a in dist.axes if here[a] is not base[a]]
            axis = moved[0] if len(moved) == 1 else None
            if axis is None or (found is not None and axis != found) or not _steps(ctx, here[axis] - base[axis], j):
                first, second = (
                    ", ".join(f"{a} = {on_threads(ctx, p[a])[0]}" for a in dist.axes) for p in (base, here)
                )
                raise ctx.error("AG307", f"in thread 0, element {i} is at {first}; element {i + j} at {second}",
                         width=width, n=n, first=i, second=i + j)  # fmt: skip
            found = axis
    ctx.run_axes[dist, n] = found
    return found


def _steps(ctx: ReadContext, gap: Expr, wanted: int) -> bool:
    if gap.op == "const":
        return gap.value == wanted
    return bool(all((on_threads(ctx, gap, point) == wanted).all() for point in samples(gap)))


def site_of(dist: Distribution, element: int, n: int) -> tuple[tuple[str, int], ...]:
    """Digit values of an access of n elements, without the digits it covers whole."""
    made: list[tuple[str, int]] = []
    inner = 1
    for name, extent in reversed(dist.digits):
        inner *= extent
        if inner > n and extent > 1:
            made.append((name, element // (inner // extent) % extent))
    return tuple(reversed(made))


def load(ctx: ReadContext, accesses: list[Access], dist: Distribution) -> Tile:
    """One load per access; the tile in pieces of one access each."""
    pieces = []
    site = ctx.b.site
    for i, access in enumerate(accesses):
        ctx.b.site = (*site, *site_of(dist, i * access.count, access.count))
        pieces.append(ctx.b.load(access))
        ctx.data_level[pieces[-1]] = ctx.level(
            access.address if access.guard is None else access.address + access.guard
        )
    ctx.b.site = site
    return Tile(accesses[0].memory.dtype, dist, tuple(pieces))


def store(ctx: ReadContext, accesses: list[Access], tile: Tile) -> None:
    """One store per access."""
    pieces = regroup(ctx, tile, accesses[0].count).pieces
    site = ctx.b.site
    for i, (access, value) in enumerate(zip(accesses, pieces, strict=True)):
        ctx.b.site = (*site, *site_of(tile.dist, i * access.count, access.count))
        ctx.b.store(access, value)
    ctx.b.site = site


def layout_axes(layout: Layout) -> dict[str, int]:
    """Axis -> extent of a layout with constant extents."""
    return {name: extent for name, extent in layout.axes.items() if isinstance(extent, int)}
