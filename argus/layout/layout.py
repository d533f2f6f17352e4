"""Layout: where each element lives, as a value with named axes.

    LDS = Layout(row=(256, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:3]")

256 rows of 128 bytes; a row is 8 chunks of 16 bytes; a chunk is 8 elements of 2 bytes.  `k` names chunk and e
together, and the chunk is exclusive-ored with the low bits of the row:

    LDS.address(row=3, k=17)          402      = 3*128 + (2 ^ 3)*16 + 1*2
    LDS.address(row=r, k=k)           an expression of r and k
    LDS.size_bytes                    32768

    axis=(extent, stride in bytes)    one digit; stride 0 is a replica, strides may be expressions (`lda*2`)
    axis=("slow", "fast")             a name for several axes together, slowest first

Layouts are immutable; every method returns a new one or raises `LayoutError` naming the digits that do not fit.  This
class is only the surface: the data is in form.py, and each family of operations has its own file with its laws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from argus.layout import access, compose, decide, form, inverse, reshape, tiling
from argus.layout.error import LayoutError
from argus.layout.form import Axis, Digit, LayoutForm, Number
from argus.layout.node import Expr, ExprLike, as_expr, const
from argus.layout.owner import Owner

AxisSpec = tuple[Number, Number] | tuple[str, ...]


class Layout:
    """A map from named coordinates to byte addresses."""

    __slots__ = ("form",)

    form: LayoutForm

    def __init__(self, **axes: AxisSpec) -> None:
        plain: list[Axis] = []
        together: dict[str, tuple[str, ...]] = {}
        for name, spec in axes.items():
            if isinstance(spec, tuple) and spec and all(isinstance(part, str) for part in spec):
                together[name] = tuple(str(part) for part in spec)
            elif isinstance(spec, tuple) and len(spec) == 2:
                plain.append(Axis(name, (Digit(name, _number(name, spec[0]), _number(name, spec[1])),)))
            else:
                raise LayoutError(f"axis `{name}` is written {name}=(extent, stride in bytes), not {spec!r}", name)
        if not plain:
            raise LayoutError("a layout needs at least one axis, such as row=(256, 128)")
        result = LayoutForm(tuple(plain))
        for name, parts in together.items():
            result = reshape.merge(result, name, parts)
        self.form = result

    @classmethod
    def of(cls, data: LayoutForm) -> Layout:
        """The layout of a form."""
        layout = object.__new__(cls)
        layout.form = data
        return layout

    @property
    def axes(self) -> dict[str, Number]:
        """Axis names with their extents, slowest first."""
        return {axis.name: axis.extent for axis in self.form.axes}

    @property
    def digits(self) -> dict[str, Digit]:
        """Digits by label, slowest first."""
        return {digit.label: digit for digit in self.form.digits()}

    @property
    def size(self) -> int:
        """Number of points."""
        return self.form.size

    @property
    def itemsize(self) -> int:
        """The smallest step between elements, in bytes."""
        strides = [
            abs(d.stride) for d in self.form.digits() if isinstance(d.stride, int) and d.stride and d.extent != 1
        ]
        return min(strides, default=1)

    @property
    def size_bytes(self) -> int:
        """Bytes from address 0 to the end of the last element."""
        return int(form.table(self.form).max()) + self.itemsize

    def address(self, **coordinates: ExprLike) -> Expr:
        """The byte address, from axes (`k`) or from their digits (`chunk`, `e`)."""
        return form.address(self.form, coordinates)

    def coordinates(self, address: ExprLike) -> dict[str, Expr]:
        """The point at an address: the inverse of `address`, for layouts in which no two points meet."""
        return inverse.coordinates(self.form, as_expr(address))

    def table(self) -> NDArray[np.int64]:
        """The address of every point, indexed by the axes in order."""
        return form.table(self.form)

    def compose(self, inner: Layout | Owner) -> Layout:
        """x -> self(inner(x)); `inner` yields linear indices, or coordinates by name when it is an owner."""
        return Layout.of(compose.compose(self.form, inner if isinstance(inner, Owner) else inner.form))

    def inverse(self) -> Layout:
        """address (in elements) -> linear index."""
        return Layout.of(inverse.inverse(self.form))

    def complement(self, size: int, unit: int = 1) -> Layout:
        """The addresses below `size` that this layout leaves, as a layout `rest`."""
        return Layout.of(tiling.complement(self.form, size, unit))

    def divide(self, tile: Layout) -> Layout:
        """Axes of `tile` and `rest`: positions inside a tile, and which tile."""
        return Layout.of(tiling.divide(self.form, tile.form))

    def product(self, other: Layout, unit: int = 1) -> Layout:
        """A copy of this layout for every point of `other`."""
        return Layout.of(tiling.product(self.form, other.form, unit))

    def xor(self, **swizzles: str | Expr) -> Layout:
        """digit="bits of other digits": the digit is exclusive-ored with them."""
        data = self.form
        for target, source in swizzles.items():
            data = reshape.xor(data, target, source)
        return Layout.of(data)

    def pad(self, **free: int) -> Layout:
        """digit=bytes: so many bytes stay free after every step of the digit."""
        data = self.form
        for label, amount in free.items():
            data = reshape.pad(data, label, amount)
        return Layout.of(data)

    def permute(self, *names: str) -> Layout:
        """The same axes in another order."""
        return Layout.of(reshape.permute(self.form, names))

    def view(self, to: int, of: int | None = None) -> Layout:
        """The same bytes as elements of `to` bytes (instead of `of`, by default the smallest step)."""
        return Layout.of(reshape.view(self.form, to, of if of is not None else self.itemsize))

    def slice(self, **where: int | tuple[int, int]) -> Layout:
        """axis=value fixes an axis, axis=(start, stop) restricts it."""
        return Layout.of(reshape.slice_(self.form, where))

    def merge(self, **together: Sequence[str]) -> Layout:
        """name=("slow", "fast"): several axes become one."""
        data = self.form
        for name, parts in together.items():
            data = reshape.merge(data, name, parts)
        return Layout.of(data)

    def split(self, **parts: Mapping[str, int]) -> Layout:
        """axis={"slow": extent, "fast": extent}: one axis becomes several."""
        data = self.form
        for name, extents in parts.items():
            data = reshape.split(data, name, extents)
        return Layout.of(data)

    def replicate(self, **copies: Number) -> Layout:
        """name=count: a further axis on which the address does not depend."""
        data = self.form
        for name, count in copies.items():
            data = reshape.replicate(data, name, _number(name, count))
        return Layout.of(data)

    def shift(self, by: int | Expr) -> Layout:
        """The same layout `by` bytes further."""
        return Layout.of(reshape.shift(self.form, by))

    def collision(self) -> tuple[dict[str, int], dict[str, int]] | None:
        """Two points with one address, or None."""
        return decide.collision(self.form)

    def injective(self) -> bool:
        """No two points have the same address."""
        return decide.injective(self.form)

    def onto(self, size: int | None = None, unit: int | None = None) -> bool:
        """Every element address below `size` (default: all up to the last) belongs to a point."""
        return decide.onto(
            self.form, self.size_bytes if size is None else size, self.itemsize if unit is None else unit
        )

    def equal(self, other: Layout) -> bool:
        """Both layouts give every point the same address."""
        return decide.difference(self.form, other.form) is None

    def difference(self, other: Layout) -> dict[str, int] | None:
        """A point at which two layouts over the same axes differ, or None."""
        return decide.difference(self.form, other.form)

    def bank_conflict(
        self, owner: Owner, width: int, phases: access.Phases, thread: str = "t", element: str = "e"
    ) -> access.BankConflict:
        """Worst bank conflict when the threads of `owner` access this layout `width` bytes at a time."""
        count = max(1, width // self.itemsize)
        accesses, _ = access.wave_accesses(self.address(**owner.outputs), owner.inputs, thread, element, count)
        return access.worst_bank_conflict(accesses, width, phases)[1]

    def widest(self, owner: Owner, element: str = "e", alignment: int = 16) -> int:
        """Most bytes one instruction can move along `element` for every thread of `owner`."""
        if element not in owner.inputs:
            raise LayoutError(f"the owner has inputs {', '.join(owner.inputs)}, not `{element}`", element)
        addresses = compose.tabulate(self.form, owner)
        moved = np.moveaxis(addresses, list(owner.inputs).index(element), -1)
        return access.widest(moved, self.itemsize, alignment)

    def lines(self, owner: Owner, width: int, thread: str = "t", element: str = "e", line: int = 128) -> int:
        """Most distinct cache lines that one wave access touches."""
        count = max(1, width // self.itemsize)
        accesses, _ = access.wave_accesses(self.address(**owner.outputs), owner.inputs, thread, element, count)
        return max(access.lines(one, width, line) for one in accesses)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.form == other.form

    def __hash__(self) -> int:
        return hash(self.form)

    def __repr__(self) -> str:
        parts = []
        for axis in self.form.axes:
            parts += [f"{d.label}=({d.extent}, {d.stride})" for d in axis.digits]
        for axis in self.form.axes:
            if len(axis.digits) > 1:
                parts.append(f"{axis.name}=({', '.join(repr(d.label) for d in axis.digits)})")
        extras = [] if self.form.swizzle.identity else [f"xor bits {self.form.swizzle}"]
        if self.form.offset or self.form.base is not const(0):
            extras.append(f"at {self.form.base + self.form.offset}")
        return f"Layout({', '.join(parts)})" + (f" [{'; '.join(extras)}]" if extras else "")


def _number(name: str, x: object) -> Number:
    if isinstance(x, Expr):
        return x.value if x.op == "const" else x
    if isinstance(x, int) and not isinstance(x, bool):
        return x
    raise LayoutError(f"axis `{name}` needs integers or expressions for extent and stride, not {x!r}", name)
