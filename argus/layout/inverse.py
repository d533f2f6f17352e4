"""inverse and coordinates: from an address back to the point.

    L = row (256, stride 128), chunk (8, stride 16), e (8, stride 2), chunk ^= row & 7
    coordinates(L, a)   ->   row = a//128,  chunk = a//16%8 ^ a//128%8,  e = a//2%8

`inverse` is a layout again (address -> linear index) and needs every address, in steps of one element, to belong to
exactly one point.  `coordinates` only needs that no two points share an address, so padded rows are welcome; it is what
the checker uses to say which element a thread reads.

What it cannot do: replicas (stride 0) and overlapping digits have no inverse and are named in the error.
"""

from __future__ import annotations

from math import gcd

import numpy as np

from argus.layout.compose import confirm, strided, swizzled
from argus.layout.error import LayoutError
from argus.layout.form import LayoutForm, Table, steps, table
from argus.layout.node import Expr, const
from argus.layout.swizzle import Swizzle


def inverse(form: LayoutForm) -> LayoutForm:
    """address -> linear index, as a layout over the single axis `address` counted in units of the element step."""
    addresses = table(form).reshape(-1)
    unit = gcd(*(int(a) for a in np.unique(addresses))) or 1
    order = np.argsort(addresses, kind="stable")
    placed = addresses[order]
    expected = np.arange(len(addresses), dtype=np.int64) * unit
    if not (placed == expected).all():
        raise _no_inverse(form, unit)
    back = order.astype(np.int64)
    first = strided(("address",), back, {}, Swizzle(), const(0))
    if isinstance(first, LayoutForm):
        confirm(first, back, "inverse")
        return first
    for candidate in swizzled(("address",), back, _inverse_carry(form, back, unit), const(0)):
        confirm(candidate, back, "inverse")
        return candidate
    names = [axis.name for axis in form.axes]
    raise LayoutError(
        "inverse: the exclusive-or part mixes digits whose extents are not powers of two", *names[:1], *names[-1:]
    )


def _inverse_carry(form: LayoutForm, back: Table, unit: int) -> list[Swizzle]:
    """X of the inverse: the inverse of X seen through the inverse strides, when bits stay bits."""
    if form.swizzle.identity or unit & (unit - 1):
        return []
    undo = form.swizzle.inverse()
    low = unit.bit_length() - 1
    strides = np.empty_like(back)
    plain = table(LayoutForm(form.axes, offset=form.offset)).reshape(-1)
    if plain.min() < 0 or plain.max() >= len(back) * unit or len(np.unique(plain)) < len(plain):
        return []
    strides[plain // unit] = np.arange(len(back), dtype=np.int64)
    places: dict[int, int] = {}
    for bit in range(low, max(len(undo.columns), low)):
        if (1 << bit) // unit >= len(back):
            return []
        place = int(strides[(1 << bit) // unit])
        if place <= 0 or place & (place - 1):
            return []
        places[bit] = place.bit_length() - 1
    if not places:
        return []
    columns = [1 << i for i in range(max(places.values()) + 1)]
    for bit, place in places.items():
        image = undo.column(bit)
        if any(i not in places for i in range(image.bit_length()) if image >> i & 1):
            return []
        columns[place] = sum(1 << places[i] for i in range(image.bit_length()) if image >> i & 1)
    return [Swizzle(tuple(columns))]


def _no_inverse(form: LayoutForm, unit: int) -> LayoutError:
    if form.offset or form.base.value:
        return LayoutError(f"inverse: the layout starts at {form.offset + form.base.value}, not at 0")
    reach = unit
    previous = "the element"
    for step in steps(form):
        if step.stride < reach:
            return LayoutError(f"inverse: `{previous}` and `{step.label}` reach the same address", previous, step.label)
        if step.stride > reach:
            return LayoutError(
                f"inverse: between `{previous}` and `{step.label}` there are addresses that no point has "
                f"(stride {step.stride}, but {reach} would be next)",
                previous,
                step.label,
            )
        reach = step.stride * step.extent
        previous = step.label
    return LayoutError("inverse: the layout does not reach every address exactly once", previous)


def coordinates(form: LayoutForm, where: Expr) -> dict[str, Expr]:
    """The coordinates of the point whose address is `where`; `where` must be an address of the layout."""
    reach = 0
    previous = "the element"
    ladder = steps(form)
    for step in ladder:
        if step.stride <= reach:
            raise LayoutError(
                f"`{previous}` and `{step.label}` overlap: an address has no single point", previous, step.label
            )
        reach += step.stride * (step.extent - 1)
        previous = step.label
    rest = form.swizzle.inverse().of_expr(where - form.base) - form.offset
    values: dict[str, Expr] = {}
    for step in reversed(ladder):
        # What the smaller digits add stays below this stride, so the quotient is the digit.
        values[step.label] = rest // step.stride
        rest = rest % step.stride
    result: dict[str, Expr] = {}
    for axis in form.axes:
        total = const(0)
        for digit in axis.digits:
            total = total * digit.extent + values.get(digit.label, const(0))
        result[axis.name] = total
    return result
