"""compose: layouts as functions, one after the other, true at every point.

Integers are the common language: a layout maps its points to addresses, and its points are numbered by their linear
index (last axis fastest).  So layouts compose like functions:

    A = row (4, stride 16), k (8, stride 2)        32 points
    B = t (8, stride 4)                            every 4th index
    compose(A, B): t -> A(B(t))                    digits t_0 (4, stride 16), t_1 (2, stride 8)

How: the composite is tabulated and digits are *fitted* to the table (fit.py).  Fitting is exact, so a composite that
has digits is found, mixed radix included, and one that has none is refused with the digits that cross.  The
exclusive-or part stays outside; where the inner layout brings one of its own it is carried through the outer strides,
or found again from the bits.

What it cannot do: composites of more than 2**22 points, and maps that are neither strided nor strided-then-linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from argus.layout import fit
from argus.layout.error import LayoutDefect, LayoutError
from argus.layout.form import Axis, Digit, LayoutForm, Table, channels, digit_values, table
from argus.layout.node import Expr, const
from argus.layout.owner import Owner
from argus.layout.swizzle import Swizzle


def compose(outer: LayoutForm, inner: LayoutForm | Owner) -> LayoutForm:
    """x -> outer(inner(x)): `inner` gives linear indices of `outer`, or (an owner) its coordinates by name."""
    if isinstance(inner, Owner):
        shape = tuple(inner.inputs.values())
        coordinates = {name: inner.table(name) for name in inner.outputs}
        names = tuple(inner.inputs)
        carried: list[Swizzle] = []
    else:
        index = table(inner)
        shape, names = inner.shape, tuple(axis.name for axis in inner.axes)
        _check_range(outer, index)
        coordinates = dict(zip((axis.name for axis in outer.axes), np.unravel_index(index, outer.shape), strict=True))
        carried = _carry(outer, inner.swizzle)
    _check_box(outer, coordinates)
    return at_points(outer, names, shape, coordinates, carried, "composition")


def tabulate(outer: LayoutForm, inner: Owner) -> Table:
    """The address of every point of an owner."""
    coordinates = {name: inner.table(name) for name in inner.outputs}
    _check_box(outer, coordinates)
    inside, outside = channels(outer, coordinates)
    if outside or outer.base.op != "const":
        raise LayoutError("addresses known only at launch cannot be tabulated")
    return outer.swizzle.of_table(np.array(inside)) + outer.base.value


def confirm(form: LayoutForm, wanted: Table, operation: str) -> None:
    """The pointwise law of an operation, checked on its result."""
    if form.shape != wanted.shape or not (table(form) == wanted).all():
        raise LayoutDefect(f"internal error: {operation} would give a layout that is wrong at some point")


def _check_range(outer: LayoutForm, index: Table) -> None:
    low, high = int(index.min()), int(index.max())
    if low < 0 or high >= outer.size:
        last = outer.axes[-1].name
        raise LayoutError(
            f"the inner layout reaches index {high if high >= outer.size else low}, "
            f"the outer one has indices 0..{outer.size - 1}",
            last,
        )


def _check_box(outer: LayoutForm, coordinates: Mapping[str, Table]) -> None:
    extents = {axis.name: axis.extent for axis in outer.axes}
    extents |= {digit.label: digit.extent for axis in outer.axes for digit in axis.digits if len(axis.digits) > 1}
    for name, x in coordinates.items():
        extent = extents.get(name)
        if isinstance(extent, int) and (int(x.min()) < 0 or int(x.max()) >= extent):
            bad = int(x.min()) if int(x.min()) < 0 else int(x.max())
            raise LayoutError(f"coordinate {bad} is outside `{name}` with extent {extent}", name)


def _carry(outer: LayoutForm, swizzle: Swizzle) -> list[Swizzle]:
    """The inner exclusive-or part moved through the outer strides, when its bits stay bits."""
    if swizzle.identity:
        return []
    places: list[int] = []
    for bit in range(len(swizzle.columns)):
        if 1 << bit >= outer.size:
            return []
        point = np.unravel_index(np.array([1 << bit]), outer.shape)
        inner, outside = channels(outer, dict(zip((a.name for a in outer.axes), point, strict=True)))
        place = int(inner[0]) - outer.offset
        if outside or place <= 0 or place & (place - 1):
            return []
        places.append(place.bit_length() - 1)
    if len(set(places)) < len(places):
        return []
    columns = [1 << i for i in range(max(places) + 1)]
    for bit, column in enumerate(swizzle.columns):
        columns[places[bit]] = sum(1 << places[i] for i in range(column.bit_length()) if column >> i & 1)
    return [outer.swizzle.after(Swizzle(tuple(columns)))]


def at_points(
    outer: LayoutForm,
    names: Sequence[str],
    shape: tuple[int, ...],
    coordinates: Mapping[str, Table],
    carried: Sequence[Swizzle],
    operation: str,
) -> LayoutForm:
    """The layout over `names` whose address at each point is `outer`'s at the given coordinates."""
    inner, outside = channels(outer, coordinates)
    inner = np.broadcast_to(inner, shape)
    wanted = {symbol: np.broadcast_to(t, shape) for symbol, t in outside.items()}
    first = strided(names, inner, wanted, outer.swizzle, outer.base)
    if isinstance(first, LayoutForm):
        if first.concrete:
            confirm(first, outer.swizzle.of_table(np.array(inner)) + outer.base.value, operation)
        return first
    if not wanted:
        addresses = outer.swizzle.of_table(np.array(inner))
        for candidate in swizzled(names, addresses, carried, outer.base):
            if candidate.concrete:
                confirm(candidate, addresses + outer.base.value, operation)
            return candidate
    raise _misfit_error(outer, names, coordinates, first, operation)


def strided(
    names: Sequence[str], inner: Table, outside: Mapping[Expr, Table], swizzle: Swizzle, base: Expr
) -> LayoutForm | fit.Misfit:
    """The form with this table inside X and these factors outside, or why there is none."""
    symbols = list(outside)
    found = fit.fit(np.stack([inner, *(outside[s] for s in symbols)], axis=-1))
    if isinstance(found, fit.Misfit):
        return found
    axes = []
    for position, (name, digits) in enumerate(zip(names, found.digits, strict=True)):
        parts = []
        for i, (extent, strides) in enumerate(digits):
            label = name if len(digits) == 1 else f"{name}_{i}"
            if not any(strides[1:]):
                parts.append(Digit(label, extent, strides[0]))
            elif swizzle.identity or strides[0] == 0:
                stride = const(strides[0])
                for symbol, factor in zip(symbols, strides[1:], strict=True):
                    stride = stride + symbol * factor
                parts.append(Digit(label, extent, stride))
            else:
                return fit.Misfit((position,), (0,) * len(names))
        axes.append(Axis(name, tuple(parts) or (Digit(name, 1, 0),)))
    for symbol, origin in zip(symbols, found.origin[1:], strict=True):
        base = base + symbol * origin
    return LayoutForm(tuple(axes), swizzle, found.origin[0], base)


def swizzled(names: Sequence[str], wanted: Table, carried: Sequence[Swizzle], base: Expr) -> Iterator[LayoutForm]:
    """Forms whose exclusive-or part differs from the outer one: none, a carried one, or one found from the bits."""
    for swizzle in (Swizzle(), *carried):
        form = strided(names, swizzle.inverse().of_table(np.array(wanted)), {}, swizzle, base)
        if isinstance(form, LayoutForm):
            yield form
    constant = int(wanted.flat[0])
    if constant < 0:
        return
    for placed, columns in fit.linear_forms(wanted ^ constant):
        swizzle = Swizzle(columns)
        inside = swizzle.inverse().of_table(np.array(constant, dtype=np.int64))
        form = strided(names, placed + inside, {}, swizzle, base)
        # The offset joins without a carry only if it shares no bit with the places; the table decides.
        if isinstance(form, LayoutForm) and (swizzle.of_table(placed + inside) == wanted).all():
            yield form


def _misfit_error(
    outer: LayoutForm, names: Sequence[str], coordinates: Mapping[str, Table], misfit: fit.Misfit, operation: str
) -> LayoutError:
    mine = [names[axis] for axis in misfit.axes]
    crossing = _crossed(outer, coordinates, misfit)
    if len(mine) > 1 and crossing is None:
        return LayoutError(f"{operation}: `{mine[0]}` and `{mine[1]}` do not add up to one address", *mine[:2])
    where = ", ".join(f"{n}={x}" for n, x in zip(names, misfit.point, strict=True))
    return LayoutError(
        f"{operation}: `{mine[0]}` crosses a boundary of `{crossing or outer.axes[-1].name}` at {where}, "
        f"which does not divide its extent evenly",
        mine[0],
        crossing or outer.axes[-1].name,
    )


def _crossed(outer: LayoutForm, coordinates: Mapping[str, Table], misfit: fit.Misfit) -> str | None:
    """The digit of `outer` that wraps around where the fit breaks."""
    axis = misfit.axes[0]
    if misfit.point[axis] == 0:
        return None
    before = tuple(x - 1 if i == axis else x for i, x in enumerate(misfit.point))
    values = digit_values(outer, coordinates)
    rank = len(misfit.point)
    for digit in outer.digits():
        t = np.asarray(values[digit.label])
        if t.ndim == rank:
            here = tuple(min(x, n - 1) for x, n in zip(misfit.point, t.shape, strict=True))
            there = tuple(min(x, n - 1) for x, n in zip(before, t.shape, strict=True))
            if t[here] < t[there]:
                return digit.label
    return None
