"""Who holds which element: a map from bounded inputs (thread, pass, register) to named coordinates.

    COPY = Owner(p=8, t=256, e=8, row="p*32 + t//8", k="t%8*8 + e")

    COPY.at(t=9, p=0, e=3)                 {"row": 1, "k": 11}
    COPY.shape()                           {"row": 256, "k": 64}      smallest box that holds every coordinate
    COPY.collision()                       None                       no element is held twice
    COPY.inverse()                         Owner(row=256, k=64, p="row//32", t="row%32*8 + k//8", e="k%8")

Integer arguments are inputs and their extents, in the order written (the last varies fastest); strings and expressions
are outputs.  Strings are parsed, never executed.

An owner is finite: every question about it is decided by complete enumeration (cached).  The inverse is found by
fitting digits to the enumerated table and is checked on every point before it is returned.

What it cannot do: inputs whose extent is only known at launch; those stay variables of the expressions around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from argus.layout import fit
from argus.layout.error import LayoutError
from argus.layout.evaluate import evaluate
from argus.layout.node import Expr, ExprError, ExprLike, as_expr, var
from argus.layout.swizzle import xor_of_fields
from argus.layout.text import parse

MAX_POINTS = 1 << 22


class Owner:
    """A finite map from named inputs to named coordinates."""

    def __init__(self, **parts: int | str | Expr) -> None:
        extents = {name: part for name, part in parts.items() if isinstance(part, int) and not isinstance(part, bool)}
        for name, extent in extents.items():
            if extent < 1:
                raise LayoutError(f"input `{name}` of an owner needs an extent of at least 1, not {extent}", name)
        self.inputs: Mapping[str, int] = MappingProxyType(extents)
        self.variables: Mapping[str, Expr] = MappingProxyType(
            {name: var(name, 0, extent - 1) for name, extent in extents.items()}
        )
        outputs: dict[str, Expr] = {}
        for name, part in parts.items():
            if isinstance(part, str):
                try:
                    outputs[name] = parse(part, self.variables)
                except ExprError as error:
                    raise LayoutError(f"coordinate `{name}` of an owner: {error}", name) from error
            elif isinstance(part, Expr):
                outputs[name] = part.subst({v: self.variables[v.name] for v in part.free() if v.name in extents})
            elif name not in extents:
                raise LayoutError(f"`{name}` must be an extent or an expression, not {part!r}", name)
        unknown = {v.name for e in outputs.values() for v in e.free()} - set(extents)
        if unknown:
            raise LayoutError(f"owner uses `{min(unknown)}`, which is not one of its inputs", min(unknown))
        if not outputs:
            raise LayoutError('an owner needs at least one coordinate, such as row="t//8"')
        self.outputs: Mapping[str, Expr] = MappingProxyType(outputs)

    @property
    def size(self) -> int:
        """Number of points."""
        return int(np.prod([1, *self.inputs.values()], dtype=object))

    def at(self, **points: ExprLike) -> dict[str, Expr]:
        """Coordinates at a point; inputs that are not given stay variables."""
        unknown = set(points) - set(self.inputs)
        if unknown:
            raise LayoutError(f"the owner has inputs {', '.join(self.inputs)}, not `{min(unknown)}`", min(unknown))
        mapping = {self.variables[name]: as_expr(value) for name, value in points.items()}
        return {name: e.subst(mapping) for name, e in self.outputs.items()}

    @cached_property
    def _tables(self) -> dict[str, NDArray[np.int64]]:
        if self.size > MAX_POINTS:
            raise LayoutError(f"the owner has {self.size} points; at most {MAX_POINTS} are enumerated")
        grid = np.indices(tuple(self.inputs.values()), dtype=np.int64, sparse=True)
        env = dict(zip(self.inputs, grid, strict=True))
        shape = tuple(self.inputs.values())
        try:
            return {name: np.broadcast_to(np.asarray(evaluate(e, env)), shape) for name, e in self.outputs.items()}
        except ExprError as error:
            raise LayoutError(f"owner: {error}") from error

    def table(self, output: str) -> NDArray[np.int64]:
        """Values of one coordinate at every point, indexed by the inputs in order."""
        return self._tables[output]

    def shape(self) -> dict[str, int]:
        """Extents of the smallest box from 0 that holds every coordinate."""
        return {name: int(table.max()) + 1 for name, table in self._tables.items()}

    def _flat(self) -> NDArray[np.int64]:
        """Coordinates packed into one number per point (row-major in the output box)."""
        shape = self.shape()
        if int(np.prod([1, *shape.values()], dtype=object)) >= 1 << 62:
            raise LayoutError(f"the coordinates of the owner span {_show(shape)}, too large a box to enumerate")
        packed = np.zeros(tuple(self.inputs.values()), dtype=np.int64)
        for name, extent in shape.items():
            if int(self._tables[name].min()) < 0:
                raise LayoutError(f"coordinate `{name}` of the owner becomes negative", name)
            packed = packed * extent + self._tables[name]
        return packed.reshape(-1)

    def collision(self) -> tuple[dict[str, int], dict[str, int]] | None:
        """Two points that hold the same element, or None."""
        flat = self._flat()
        order = np.argsort(flat, kind="stable")
        equal = np.nonzero(flat[order][1:] == flat[order][:-1])[0]
        if not len(equal):
            return None
        return self._point(int(order[equal[0]])), self._point(int(order[equal[0] + 1]))

    def injective(self) -> bool:
        """No element is held twice."""
        return self.collision() is None

    def onto(self, **extents: int) -> bool:
        """Every element of the box is held by someone, and nobody holds anything outside."""
        shape = self.shape()
        if shape != {name: extents.get(name) for name in shape} or set(extents) != set(shape):
            return False
        return len(np.unique(self._flat())) == int(np.prod(list(shape.values()), dtype=object))

    def _point(self, flat: int) -> dict[str, int]:
        index = np.unravel_index(flat, tuple(self.inputs.values()))
        return {name: int(i) for name, i in zip(self.inputs, index, strict=True)}

    def inverse(self) -> Owner:
        """Element -> holder.  Needs an owner that holds every element of its box exactly once."""
        pair = self.collision()
        if pair is not None:
            names = tuple(name for name in self.inputs if pair[0][name] != pair[1][name])
            raise LayoutError(
                f"the owner has no inverse: {_show(pair[0])} and {_show(pair[1])} hold the same element", *names[:2]
            )
        shape = self.shape()
        extents = tuple(shape.values())
        count = int(np.prod(extents, dtype=object))
        if count != self.size:
            raise LayoutError(
                f"the owner has no inverse: {self.size} holders for the {count} elements of {_show(shape)}"
            )
        back = np.empty((count, len(self.inputs)), dtype=np.int64)
        grid = np.indices(tuple(self.inputs.values())).reshape(len(self.inputs), -1).T
        back[self._flat()] = grid
        found = fit.fit(back.reshape(*extents, len(self.inputs)))
        coordinates = {name: var(name, 0, extent - 1) for name, extent in shape.items()}
        if isinstance(found, fit.Strided):
            holders = {
                name: _from_digits(found, list(coordinates.values()), channel)
                for channel, name in enumerate(self.inputs)
            }
        else:
            holders = self._linear_inverse(back.reshape(*extents, len(self.inputs)), coordinates, found)
        result = Owner(**shape, **holders)
        for channel, name in enumerate(self.inputs):
            if not (result.table(name).reshape(-1) == back[:, channel]).all():
                raise LayoutError(f"the inverse of the owner has no closed form for `{name}`", name)
        return result

    def _linear_inverse(
        self, back: NDArray[np.int64], coordinates: Mapping[str, Expr], misfit: fit.Misfit
    ) -> dict[str, Expr]:
        holders: dict[str, Expr] = {}
        for channel, name in enumerate(self.inputs):
            single = fit.fit(back[..., channel : channel + 1])
            if isinstance(single, fit.Strided):
                holders[name] = _from_digits(single, list(coordinates.values()), 0)
                continue
            columns = fit.linear_columns(back[..., channel])
            if columns is None:
                axes = [list(coordinates)[axis] for axis in misfit.axes]
                raise LayoutError(f"the inverse of the owner has no closed form: {' and '.join(axes)} mix", *axes)
            holders[name] = xor_of_fields(columns, list(coordinates.values()))
        return holders

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Owner) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, Expr], ...]]:
        return tuple(self.inputs.items()), tuple(self.outputs.items())

    def __repr__(self) -> str:
        parts = [f"{n}={x}" for n, x in self.inputs.items()] + [f'{n}="{e}"' for n, e in self.outputs.items()]
        return f"Owner({', '.join(parts)})"


def _show(point: Mapping[str, int]) -> str:
    return "(" + ", ".join(f"{name}={value}" for name, value in point.items()) + ")"


def _from_digits(found: fit.Strided, coordinates: list[Expr], channel: int) -> Expr:
    total = as_expr(found.origin[channel])
    for coordinate, digits in zip(coordinates, found.digits, strict=True):
        weight = 1
        for extent, stride in reversed(digits):
            total = total + coordinate // weight % extent * stride[channel]
            weight *= extent
    return total
