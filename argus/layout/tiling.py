"""complement, divide, product: tiles of layouts and copies of tiles.

    T = t (4, stride 2)                  the indices 0 2 4 6
    complement(T, 24)                    rest (3, stride 8), (2, stride 1): T(x) + rest(y) is each index below 24 once
    divide(A, T)                         A seen as tiles of shape T and the rest: axes t and rest
    product(T, B)                        a copy of T for every point of B, in the space T leaves free

An interval of integers splits into x + y in one way only when the strides nest (each a multiple of where the previous
digit ends), so the structural rule finds a complement whenever one exists.

What it cannot do: layouts with an offset, replicas, or digits known only at launch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from argus.layout.compose import compose, confirm
from argus.layout.error import LayoutDefect, LayoutError
from argus.layout.form import MAX_POINTS, Axis, Digit, LayoutForm, channels, grid, steps, table


def _gaps(form: LayoutForm, unit: int, operation: str) -> tuple[list[tuple[int, int]], int, str]:
    """Digits (extent, stride) that fill the spaces between the form's digits, and where the last of them ends."""
    if unit < 1:
        raise LayoutError(f"{operation}: the unit must be at least 1, not {unit}")
    if form.offset or not (form.base.op == "const" and form.base.value == 0):
        raise LayoutError(f"{operation}: the layout must start at 0, not at {form.base + form.offset}")
    gaps: list[tuple[int, int]] = []
    reach = unit
    previous = f"the unit of {unit}"
    for step in steps(form):
        if step.stride == 0:
            raise LayoutError(f"{operation}: `{step.label}` is a replica (stride 0)", step.label)
        if step.stride % reach:
            raise LayoutError(
                f"{operation}: stride {step.stride} of `{step.label}` is no multiple of {reach}, where {previous} ends",
                previous.strip("`"),
                step.label,
            )
        if step.stride > reach:
            gaps.append((step.stride // reach, reach))
        reach = step.stride * step.extent
        previous = f"`{step.label}`"
    return gaps, reach, previous


def _gap_axis(name: str, gaps: Sequence[tuple[int, int]]) -> Axis:
    if not gaps:
        return Axis(name, (Digit(name, 1, 0),))
    slowest_first = list(reversed(gaps))
    return Axis(
        name,
        tuple(
            Digit(name if len(gaps) == 1 else f"{name}_{i}", extent, stride)
            for i, (extent, stride) in enumerate(slowest_first)
        ),
    )


def complement(form: LayoutForm, size: int, unit: int = 1, name: str = "rest") -> LayoutForm:
    """The layout R with: every multiple of `unit` below `size` is form(x) + R(y) for exactly one pair (x, y).

    With an exclusive-or part the statement is about the sum inside it: X(strides(x) + R(y)).
    """
    gaps, reach, previous = _gaps(form, unit, "complement")
    if size % reach or size < reach:
        raise LayoutError(
            f"complement: size {size} is not a multiple of {reach}, where {previous} ends", previous, "size"
        )
    if size > reach:
        gaps.append((size // reach, reach))
    rest = LayoutForm((_gap_axis(name, gaps),))
    if size // unit <= MAX_POINTS:
        inside = channels(form, grid(form))[0]
        sums = np.add.outer(np.broadcast_to(inside, form.shape), table(rest)).reshape(-1)
        if not (np.sort(sums) == np.arange(0, size, unit)).all():
            raise LayoutDefect("internal error: complement would leave or repeat an address")
    return rest


def divide(form: LayoutForm, tile: LayoutForm, name: str = "rest") -> LayoutForm:
    """The axes of `tile` (positions inside a tile) and `rest` (which tile): form at index X_tile(tile(x) + rest(y))."""
    rest = complement(tile, form.size, name=name)
    return compose(form, LayoutForm((*tile.axes, *rest.axes), tile.swizzle))


def product(form: LayoutForm, other: LayoutForm, unit: int = 1) -> LayoutForm:
    """One copy of `form` for every point of `other`, laid into the free space in the order `other` gives.

    Law: P(x, y) = form(x) + C(other(y)) where C counts the places that form leaves free, in multiples of `unit`.
    With an exclusive-or part the sum is taken inside it.
    """
    places = table(other)
    if int(places.min()) < 0:
        raise LayoutError("product: the second layout has negative values", other.axes[0].name)
    gaps, reach, _ = _gaps(form, unit, "product")
    filled = int(np.prod([1, *(extent for extent, _ in gaps)], dtype=object))
    count = -(-(int(places.max()) + 1) // filled)
    free = LayoutForm((_gap_axis("free", [*gaps, (count, reach)] if count > 1 else gaps),))
    copies = compose(free, other)
    if not copies.swizzle.identity:
        names = [axis.name for axis in other.axes]
        raise LayoutError(
            f"product: the places of `{names[0]}` do not lie at regular distances in the space that is free",
            names[0],
            steps(form)[0].label if steps(form) else form.axes[0].name,
        )
    result = LayoutForm((*form.axes, *copies.axes), form.swizzle, copies.offset)
    inside = channels(form, grid(form))[0]
    wanted = np.add.outer(np.broadcast_to(inside, form.shape), table(free).reshape(-1)[places])
    confirm(result, form.swizzle.of_table(wanted), "product")
    return result
