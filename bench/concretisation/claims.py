"""The value of a tag under a concrete environment: coordinates by evaluation, terms in float64, elements exactly.

    claims.values(case, wave, lanes)      what each element of a register should hold, and how exactly

A term is evaluated for all elements of one record at once: own coordinates are arrays. A reduction adds an axis. What
has no value here (functions the checker knows only by name, slots that a loop's invariant names) raises `NoClaim`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.records import Record, Tables
from argus.check.domain.reduction_footprint import FootprintPart, Over, ReducedFootprint
from argus.check.terms.atoms import (
    UNKNOWN,
    ZERO,
    Apply,
    Atom,
    Carried,
    Leaf,
    Number,
    Power,
    Reduce,
    Where,
    own,
)  # fmt: skip
from argus.check.transfer.computed_places import DATA
from argus.ir.kernel import Kernel
from argus.ir.maps import MAPS
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError

Floats = NDArray[np.float64]
Own = Mapping[int, NDArray[np.int64]]
COMPARED: dict[str, Callable[..., Any]] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
MOST_TERMS = 1 << 22
"""Elements of a reduction that are expanded at once."""


class NoClaim(Exception):
    """The tag says nothing that can be evaluated; the message is why."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """What elements should hold; `weight` is the size of the numbers that were added up; `exact` if not rounded."""

    value: Floats
    weight: Floats
    exact: bool = False


class Claims:
    """Tags of one kernel under one environment (sizes, block, loop counters, inputs)."""

    def __init__(
        self,
        kernel: Kernel,
        tables: Tables,
        arrays: Mapping[str, NDArray[Any]],
        env: Mapping[str, int],
        scalars: Mapping[str, float],
    ) -> None:
        self.kernel, self.tables, self.env, self.scalars = kernel, tables, env, scalars
        self.arrays = arrays
        self.kept: dict[tuple[int, bytes], tuple[Floats, Floats]] = {}
        self.functions = {DATA + t.name: self._data(t.name) for t in kernel.tensors if t.name in arrays}

    def _data(self, name: str) -> Callable[..., Any]:
        """An element of an integer tensor by its coordinates, which come in the order of the axes' numbers."""
        tensor = next(t for t in self.kernel.tensors if t.name == name)
        order = np.argsort(np.argsort(self.tables.tensor_axes[tensor]))

        def element(*coordinates: Any) -> Any:
            placed = [np.asarray(coordinates[n]) for n in order]
            found = self._element(name, placed)
            return int(found) if found.ndim == 0 else found.astype(np.int64)

        return element

    def _element(self, name: str, coordinates: list[NDArray[Any]]) -> Floats:
        array = self.arrays[name]
        there = np.asarray(True)
        for at, extent in zip(coordinates, array.shape, strict=True):
            there = there & (at >= 0) & (at < extent)
        inside = tuple(np.clip(at, 0, max(0, n - 1)) for at, n in zip(coordinates, array.shape, strict=True))
        if 0 in array.shape:
            return np.zeros(np.broadcast_shapes(*(c.shape for c in coordinates)))
        return np.where(there, array[inside].astype(np.float64), 0.0)

    def number(self, e: Expr, at: Own | None = None, more: Mapping[str, int] | None = None) -> Any:
        names: dict[str, Any] = {**self.env, **(more or {}), **{own(a).name: v for a, v in (at or {}).items()}}
        try:
            return E.evaluate(e, names, self.functions)
        except (ExprError, ZeroDivisionError, IndexError) as error:
            raise NoClaim(f"expression: {error}") from None

    def holds(self, e: Expr) -> bool | None:
        """The truth of a condition, None where it has none here."""
        try:
            return bool(np.all(self.number(e)))
        except NoClaim:
            return None

    def values(self, record: Record, offsets: NDArray[np.int32]) -> Claimed:
        """What elements with this record and these offsets hold."""
        count = len(offsets)
        if record.kind == "zero":
            return Claimed(np.zeros(count), np.zeros(count), exact=True)
        if record.kind not in ("element", "value", "plain"):
            raise NoClaim(record.kind)
        if record.expr is not None:
            column = offsets[:, 0].astype(np.int64)
            if record.label == "index":
                made = np.asarray(self.number(record.expr) + column, dtype=np.float64)
                return Claimed(np.broadcast_to(made, (count,)), np.zeros(count), exact=True)
            raise NoClaim("condition")
        if record.term == UNKNOWN:
            raise NoClaim("no term")
        axes = [a for a in sorted(self.tables.terms.axes(record.term)) if record.rests[a] >= 0]
        rests = [np.asarray(self.number(self.tables.rests[record.rests[a]]), dtype=np.int64) for a in axes]
        places = np.stack([r + offsets[:, a] for r, a in zip(rests, axes, strict=True)], axis=1) if axes else None
        value, weight = self._once(record.term, axes, places)
        return Claimed(np.broadcast_to(value, (count,)), np.broadcast_to(weight, (count,)))

    def _once(self, term: int, axes: list[int], places: NDArray[np.int64] | None) -> tuple[Floats, Floats]:
        """The term at these coordinates: different ones are evaluated once, and kept."""
        if places is None:
            key, back = (term, b""), None
        else:
            places, back = np.unique(places, axis=0, return_inverse=True)
            key = (term, places.tobytes())
        if key not in self.kept:
            at = {} if places is None else {a: places[:, n] for n, a in enumerate(axes)}
            value, weight = self.term(term, at)
            if places is not None:
                value, weight = (np.broadcast_to(x, (len(places),)) for x in (value, weight))
            self.kept[key] = value, weight
        value, weight = self.kept[key]
        return (value, weight) if back is None else (value[back.reshape(-1)], weight[back.reshape(-1)])

    def term(self, term: int, at: Own) -> tuple[Floats, Floats]:
        """Value and weight of a term at own coordinates."""
        if term == UNKNOWN:
            raise NoClaim("unknown term")
        value: Floats = np.zeros(())
        weight: Floats = np.zeros(())
        with np.errstate(all="ignore"):
            for (factors, exponent), c in self.tables.terms[term]:
                part: Floats = np.asarray(float(c))
                size: Floats = np.asarray(abs(float(c)))
                for number, twice in factors:
                    base, base_size = self.atom(self.tables.terms.atoms[number], at)
                    part = part * base ** (twice / 2)
                    size = size * np.where(twice > 0, np.maximum(base_size, np.abs(base)), np.abs(base)) ** (twice / 2)
                if exponent != ZERO:
                    x, x_size = self.term(exponent, at)
                    power = np.exp2(x)  # the exponential of terms has base 2
                    part, size = part * power, size * power * (1 + x_size)
                value, weight = value + part, weight + size
        return np.asarray(value), np.asarray(weight)

    def atom(self, atom: Atom, at: Own) -> tuple[Any, Any]:
        match atom:
            case Leaf(tensor=name, axes=axes, at=places):
                if name not in self.arrays:
                    raise NoClaim(f"{name} is written")
                if any(a not in at for a in axes) and not places:
                    raise NoClaim("coordinates missing")
                found = [np.asarray(self.number(p, at)) for p in places] or [at[a] for a in axes]
                value = self._element(name, found)
                return value, np.abs(value)
            case Number(name=Expr() as e):
                value = np.asarray(self.number(e, at), dtype=np.float64)
                return value, np.abs(value)
            case Number(name=name):
                if name not in self.scalars:
                    raise NoClaim("scalar")
                given = np.asarray(np.float32(self.scalars[str(name)]), dtype=np.float64)
                return given, np.abs(given)
            case Power(base=base):
                return self.term(base, at)
            case Where(condition=condition, yes=yes, no=no):
                chosen = np.asarray(self.number(condition, at)) != 0
                (a, u), (b, v) = self.term(yes, at), self.term(no, at)
                return np.where(chosen, a, b), np.where(chosen, u, v)
            case Apply(fn=fn, args=args):
                return self._applied(fn, [self.term(t, at) for t in args])
            case Reduce():
                return self._reduced(atom, at)
            case Carried():
                raise NoClaim("carried by a loop")

    def _applied(self, fn: str, args: list[tuple[Floats, Floats]]) -> tuple[Any, Any]:
        values = [np.asarray(v, dtype=np.float64) for v, _ in args]
        if fn in COMPARED:
            made = np.asarray(COMPARED[fn](*values), dtype=np.float64)
            return made, np.ones_like(made)
        if fn == "select":
            chosen = values[0] != 0
            return np.where(chosen, values[1], values[2]), np.where(chosen, args[1][1], args[2][1])
        if fn in ("max", "min"):
            made = values[0]
            for v in values[1:]:
                made = np.maximum(made, v) if fn == "max" else np.minimum(made, v)
            return made, np.maximum.reduce(np.broadcast_arrays(*(w for _, w in args)))
        if fn not in MAPS or fn in ("and", "or", "xor", "not", "shl", "shr"):
            raise NoClaim(f"function {fn}")
        try:
            made = np.asarray(MAPS[fn].numpy(*values), dtype=np.float64)
        except (TypeError, ValueError, AttributeError):
            raise NoClaim(f"function {fn}") from None
        return made, np.abs(made) + sum(w for _, w in args)

    def _reduced(self, atom: Reduce, at: Own) -> tuple[Any, Any]:
        if atom.domain is not None:
            coordinates = np.arange(int(self.number(atom.domain)), dtype=np.int64)
        else:
            coordinates = self._taken(atom.footprint, at)
        at = {a: v for a, v in at.items() if a in self.tables.terms.axes(atom.body) and a != atom.axis}
        shape = np.broadcast_shapes(*(v.shape for v in at.values())) if at else ()
        if int(np.prod(shape)) * coordinates.shape[-1] > MOST_TERMS:
            raise NoClaim("a reduction of many elements")
        inner: dict[int, NDArray[np.int64]] = {a: v[..., None] for a, v in at.items()}
        inner[atom.axis] = coordinates
        value, weight = self.term(atom.body, inner)
        full = (*shape, coordinates.shape[-1])
        value, weight = np.broadcast_to(value, full), np.broadcast_to(weight, full)
        match atom.op:
            case "sum":
                return value.sum(-1), weight.sum(-1)
            case "prod":
                return value.prod(-1), np.maximum(weight, 1.0).prod(-1)
            case "max":
                return value.max(-1, initial=-np.inf), weight.max(-1, initial=0)
            case "min":
                return value.min(-1, initial=np.inf), weight.max(-1, initial=0)

    def _taken(self, items: ReducedFootprint, at: Own, more: Mapping[str, int] | None = None) -> NDArray[np.int64]:
        parts: list[NDArray[np.int64]] = []
        for item in items:
            match item:
                case FootprintPart(rest=rest, low=low, mask=mask):
                    start = np.asarray(self.number(rest, at, more), dtype=np.int64)
                    bits = np.array([i for i in range(mask.bit_length()) if mask >> i & 1], dtype=np.int64)
                    parts.append(start[..., None] + low + bits)
                case Over(var=var, lo=lo, hi=hi, step=step, items=inner):
                    first, last = (np.asarray(self.number(e, at, more)) for e in (lo, hi))
                    if first.ndim or last.ndim:
                        raise NoClaim("a loop's bounds per element")
                    for i in range(int(first), int(last), step):
                        parts.append(self._taken(inner, at, {**(more or {}), var.name: i}))
        if not parts:
            return np.zeros(0, dtype=np.int64)
        shape = np.broadcast_shapes(*(p.shape[:-1] for p in parts))
        return np.concatenate([np.broadcast_to(p, (*shape, p.shape[-1])) for p in parts], axis=-1)
