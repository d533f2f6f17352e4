"""The data of a layout: axes made of digits, an exclusive-or part, an offset and a base.

    address(x) = base + sum of symbolic strides * digit  +  X( offset + sum of constant strides * digit )

    axis k of extent 64 with digits  chunk (extent 8, stride 16),  e (extent 8, stride 2)
    k = 19   ->   chunk = 19 // 8 = 2,  e = 19 % 8 = 3   ->   2*16 + 3*2 = 38

An axis lists its digits slowest first; the slowest digit of an axis is not reduced modulo its extent, so an axis whose
extent is only known at launch is one digit with an expression as extent.  Axes are ordered too: the *linear index* of a
point counts the last axis fastest, as in a C array.

A form has two independent readings, `address` (an expression) and `table` (numpy).  Every form with constant strides
and at most SELF_CHECK_POINTS points compares them on all points when it is made; a difference would be a defect of
Argus and is raised as `LayoutError` instead of being used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from argus.layout.arith import linear
from argus.layout.error import LayoutDefect, LayoutError
from argus.layout.evaluate import evaluate
from argus.layout.node import Expr, ExprLike, as_expr, const, var
from argus.layout.swizzle import Swizzle

MAX_POINTS = 1 << 22
SELF_CHECK_POINTS = 1 << 16
MAX_ADDRESS = 1 << 62

Table = NDArray[np.int64]
Number = int | Expr


@dataclass(frozen=True)
class Digit:
    """One digit: `extent` values, `stride` bytes (or units) apart; stride 0 makes it a replica."""

    label: str
    extent: Number
    stride: Number


@dataclass(frozen=True)
class Axis:
    """A named coordinate, made of one or more digits, slowest first."""

    name: str
    digits: tuple[Digit, ...]

    @property
    def extent(self) -> Number:
        total: Number = 1
        for digit in self.digits:
            total = total * digit.extent
        return total


@dataclass(frozen=True)
class LayoutForm:
    """A complete layout as plain data."""

    axes: tuple[Axis, ...]
    swizzle: Swizzle = field(default_factory=Swizzle)
    offset: int = 0
    base: Expr = field(default_factory=lambda: const(0))

    def __post_init__(self) -> None:
        _check_names(self)
        _check_digits(self)
        if self.concrete and self.size <= SELF_CHECK_POINTS:
            _self_check(self)

    def digits(self) -> Iterator[Digit]:
        for axis in self.axes:
            yield from axis.digits

    @property
    def finite(self) -> bool:
        """Every extent is a number."""
        return all(isinstance(d.extent, int) for d in self.digits())

    @property
    def concrete(self) -> bool:
        """Every extent and stride is a number, and so is the base."""
        return self.finite and self.base.op == "const" and all(isinstance(d.stride, int) for d in self.digits())

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        extents = []
        for axis in self.axes:
            if not isinstance(axis.extent, int):
                raise LayoutError(f"axis `{axis.name}` has the extent {axis.extent}, known only at launch", axis.name)
            extents.append(axis.extent)
        return tuple(extents)

    @property
    def size(self) -> int:
        """Number of points."""
        return int(np.prod([1, *self.shape], dtype=object))


def _check_names(form: LayoutForm) -> None:
    names = [axis.name for axis in form.axes]
    labels = [digit.label for axis in form.axes for digit in axis.digits if len(axis.digits) > 1]
    seen: set[str] = set()
    for name in (*names, *labels):
        if not name.isidentifier():
            raise LayoutError(f"`{name}` is not a name an axis can have", name)
        if name in seen:
            raise LayoutError(f"the name `{name}` is used twice in one layout", name, name)
        seen.add(name)


def _check_digits(form: LayoutForm) -> None:
    reach = abs(form.offset) + sum(
        abs(d.stride) * (d.extent if isinstance(d.extent, int) else 1)
        for d in form.digits()
        if isinstance(d.stride, int)
    )
    if reach >= MAX_ADDRESS:
        raise LayoutError(f"the layout reaches {reach} bytes; addresses must stay below 2**62")
    for axis in form.axes:
        if not axis.digits:
            raise LayoutError(f"axis `{axis.name}` has no digits", axis.name)
        for position, digit in enumerate(axis.digits):
            if isinstance(digit.extent, Expr) and position:
                raise LayoutError(
                    f"only the slowest digit of `{axis.name}` may have an extent known only at launch, "
                    f"not `{digit.label}`",
                    axis.digits[0].label,
                    digit.label,
                )
            if isinstance(digit.extent, int) and digit.extent < 1:
                raise LayoutError(f"`{digit.label}` has extent {digit.extent}; at least 1 is needed", digit.label)


@lru_cache(maxsize=4096)
def _self_check(form: LayoutForm) -> None:
    coordinates = np.indices(form.shape, dtype=np.int64, sparse=True)
    env: dict[str, Any] = {axis.name: x for axis, x in zip(form.axes, coordinates, strict=True)}
    e = address(form, {axis.name: variable(axis) for axis in form.axes})
    if not (np.broadcast_to(np.asarray(evaluate(e, env)), form.shape) == table(form)).all():
        raise LayoutDefect(f"internal error: the two readings of a layout differ ({form})")


def variable(axis: Axis) -> Expr:
    """The axis as a bounded variable of an expression."""
    return var(axis.name, 0, axis.extent - 1 if isinstance(axis.extent, int) else None)


def digit_values(form: LayoutForm, coordinates: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every digit from coordinates given per axis or per digit; works on expressions and on arrays."""
    values: dict[str, Any] = {}
    used: set[str] = set()
    for axis in form.axes:
        labels = [digit.label for digit in axis.digits]
        if axis.name in coordinates:
            used.add(axis.name)
            rest = coordinates[axis.name]
            for digit in reversed(axis.digits[1:]):
                values[digit.label] = rest % digit.extent
                rest = rest // digit.extent
            values[axis.digits[0].label] = rest
        elif len(labels) > 1 and all(label in coordinates for label in labels):
            used.update(labels)
            values.update({label: coordinates[label] for label in labels})
        elif axis.extent == 1:
            values.update(dict.fromkeys(labels, 0))
        else:
            raise LayoutError(f"the coordinate `{axis.name}` is missing", axis.name)
    unknown = set(coordinates) - used
    if unknown:
        known = ", ".join(axis.name for axis in form.axes)
        raise LayoutError(f"the layout has no axis `{min(unknown)}`; its axes are {known}", min(unknown))
    return values


def address(form: LayoutForm, coordinates: Mapping[str, ExprLike]) -> Expr:
    """The address as an expression of the coordinates."""
    values = digit_values(form, {name: as_expr(x) for name, x in coordinates.items()})
    inner, outer = const(form.offset), form.base
    for digit in form.digits():
        if isinstance(digit.stride, int):
            inner = inner + values[digit.label] * digit.stride
        else:
            outer = outer + values[digit.label] * digit.stride
    return outer + (inner if form.swizzle.identity else form.swizzle.of_expr(inner))


def channels(form: LayoutForm, coordinates: Mapping[str, Table]) -> tuple[Table, dict[Expr, Table]]:
    """At arrays of coordinates: the sum inside X, and the factor of every symbol outside X (constants under 1)."""
    values = digit_values(form, coordinates)
    inner: Any = np.int64(form.offset)
    outer: dict[Expr, Any] = {}
    for digit in form.digits():
        if isinstance(digit.stride, int):
            inner = inner + values[digit.label] * np.int64(digit.stride)
            continue
        parts, constant = linear(digit.stride)
        for symbol, factor in (*parts.items(), *([(const(1), constant)] if constant else [])):
            outer[symbol] = outer.get(symbol, 0) + values[digit.label] * np.int64(factor)
    shape = np.broadcast_shapes(*(np.shape(x) for x in values.values()), np.shape(inner))
    return np.broadcast_to(inner, shape), {symbol: np.broadcast_to(t, shape) for symbol, t in outer.items()}


def grid(form: LayoutForm) -> dict[str, Table]:
    """Every point of the layout as sparse coordinate arrays."""
    if form.size > MAX_POINTS:
        raise LayoutError(f"the layout has {form.size} points; at most {MAX_POINTS} are enumerated")
    return {
        axis.name: x for axis, x in zip(form.axes, np.indices(form.shape, dtype=np.int64, sparse=True), strict=True)
    }


@lru_cache(maxsize=64)
def table(form: LayoutForm) -> Table:
    """The address of every point, indexed by the axes in order."""
    if not form.concrete:
        symbols = sorted({str(d.stride) for d in form.digits() if isinstance(d.stride, Expr)} | {str(form.base)})
        raise LayoutError(f"the layout has no table of addresses: {', '.join(symbols)} are known only at launch")
    inner, _ = channels(form, grid(form))
    result = np.empty(form.shape, dtype=np.int64)
    result[...] = form.swizzle.of_table(np.array(inner)) + form.base.value
    result.flags.writeable = False
    return result


class FormStep(NamedTuple):
    """A digit with numbers for extent and stride."""

    label: str
    extent: int
    stride: int


def steps(form: LayoutForm) -> list[FormStep]:
    """Digits of more than one value by increasing stride; symbolic and negative strides are refused."""
    found = []
    for digit in form.digits():
        if not isinstance(digit.stride, int) or not isinstance(digit.extent, int):
            raise LayoutError(f"`{digit.label}` is known only at launch; constant strides are needed here", digit.label)
        if digit.extent > 1:
            if digit.stride < 0:
                raise LayoutError(f"`{digit.label}` has the negative stride {digit.stride}", digit.label)
            found.append(FormStep(digit.label, digit.extent, digit.stride))
    return sorted(found, key=lambda step: (step.stride, step.label))
