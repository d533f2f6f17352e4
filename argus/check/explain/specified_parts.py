"""A specification at one element of the result: the number of each of its parts, the elements it reads, its sums.

    Y[m] = sum(X[m, j] * X[m, j], j) / N  at m = 0      parts      X[0, 0], X[0, 0]², …, the sum, N, the quotient
                                                        elements   X[0, 0], X[0, 1], …
                                                        groups     one sum with the addends X[0, j]²

Only what the element depends on counts: of `where(condition, yes, no)` the side that its condition takes. Nested sums,
differences and signs are one sum, nested maxima one maximum: a kernel may add up in any order.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from argus.check.explain.recorded_run import Untraceable
from argus.spec.errors import SpecError
from argus.spec.extents import reduction_extent
from argus.spec.functions import FUNCTIONS
from argus.spec.tree import (
    Arithmetic,
    Complement,
    ConditionalValue,
    Connective,
    FunctionCall,
    IndexName,
    IndexReduction,
    Negation,
    NumberLiteral,
    Relation,
    RelationOp,
    ResultSpec,
    ScalarName,
    SizeName,
    SpecNode,
    TensorElement,
)
from argus.spec.walk import open_indices

MOST = 20_000
"""Parts that are evaluated before a specification counts as too large."""
GroupKind = Literal["sum", "max", "min"]
Indices = Mapping[str, int]
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
}  # fmt: skip
_RELATIONS: dict[RelationOp, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_CHOSEN: dict[str, GroupKind] = {"maximum": "max", "minimum": "min", "max": "max", "min": "min"}
_COMPUTED = (Negation, Arithmetic, FunctionCall, IndexReduction, ConditionalValue)


@dataclass(frozen=True, slots=True)
class SpecifiedAddend:
    """A signed addend of a sum, or what a maximum is taken of; `elements` are the tensor elements it is made of."""

    value: float
    elements: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class SpecifiedGroup:
    """A sum, maximum or minimum with all that goes into it."""

    kind: GroupKind
    members: tuple[SpecifiedAddend, ...]


class SpecifiedParts:
    """One result at one element. Raises Untraceable where it is too large, or has no value."""

    def __init__(
        self, spec: ResultSpec, arrays: Mapping[str, NDArray[Any]], symbols: Mapping[str, float], at: tuple[int, ...]
    ) -> None:
        self._arrays, self._symbols = arrays, symbols
        self._shapes = {name: array.shape for name, array in arrays.items()}
        self._open: dict[int, tuple[str, ...]] = {}
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}
        self._numbers: list[float] = []
        self._given: list[float] = []
        self._in_index = False
        self._zeros: set[GroupKind | None] = set()
        self._groups: dict[tuple[int, tuple[int, ...]], tuple[GroupKind, SpecNode, Indices]] = {}
        self.elements: set[tuple[str, tuple[int, ...]]] = set()
        self.own = dict(zip(spec.indices, at, strict=True))
        try:
            with np.errstate(all="ignore"):
                self.value = self._of(spec.expression, self.own)
                self.groups = [self._group(*one) for one in self._groups.values()]
        except (SpecError, ZeroDivisionError, OverflowError) as error:
            raise Untraceable(str(error)) from None
        parts = np.array(self._numbers, dtype=np.float64)
        self.numbers = np.unique(parts[np.isfinite(parts)])
        """The number of every part that is computed or an element, in order."""
        self._with_given = np.unique(np.concatenate([self.numbers, np.array(self._given, dtype=np.float64)]))
        kinds = {kind for kind, _, _ in self._groups.values()} - {"sum"}
        self._extremes = {kind: self._of_kind(kind) for kind in kinds}

    def _of_kind(self, kind: GroupKind) -> NDArray[np.float64]:
        """The numbers of all maxima (or minima), in order."""
        found = [self._known[key] for key, (own, _, _) in self._groups.items() if own == kind]
        return np.unique(np.array(found, dtype=np.float64))

    def has(self, number: float, kind: GroupKind | None, part: float) -> bool:
        """Whether some part has this number, up to a part of it. A maximum must be one of the specification's, as it
        always is some element. A sum that is zero, or only a scalar, has lost its addends, unless one of these has."""
        if number == 0 or not np.isfinite(number):
            return number == 0 and kind in self._zeros
        numbers = self._with_given if kind is None else self._extremes.get(kind, self.numbers)
        near = numbers[np.searchsorted(numbers, number - part * abs(number)) :][:1]
        return bool(near.size and near[0] <= number + part * abs(number))

    def _key(self, node: SpecNode, at: Indices) -> tuple[int, tuple[int, ...]]:
        names = self._open.get(id(node))
        if names is None:
            names = self._open[id(node)] = tuple(sorted(open_indices(node)))
        return id(node), tuple(at[name] for name in names)

    def _of(self, node: SpecNode, at: Indices) -> float:
        key = self._key(node, at)
        if key not in self._known:
            if len(self._known) > MOST:
                raise Untraceable("the specification is too large")
            value = self._value(node, at)
            self._known[key] = value
            kind = group_kind(node)
            if self._in_index:
                return value
            if isinstance(node, SizeName | ScalarName):
                self._given.append(value)
            elif type(node) in _COMPUTED:
                self._numbers.append(value)
                self._zeros |= {kind} if value == 0 else set()
            if kind is not None:
                self._groups[key] = (kind, node, at)
        return self._known[key]

    def _value(self, node: SpecNode, at: Indices) -> float:
        match node:
            case NumberLiteral(value):
                return value
            case IndexName(name):
                return at[name]
            case SizeName(name) | ScalarName(name):
                return self._symbols[name]
            case TensorElement(tensor, indices):
                place = self._place(indices, at)
                if any(not 0 <= p < n for p, n in zip(place, self._shapes[tensor], strict=True)):
                    return 0
                self.elements.add((tensor, place))
                held = self._arrays[tensor][place]
                self._numbers.append(float(held))
                return int(held) if node.whole else float(held)
            case Negation(operand):
                return -self._of(operand, at)
            case Arithmetic(op, left, right):
                x, y = self._of(left, at), self._of(right, at)
                return float(np.float64(x) / np.float64(y)) if op == "/" else _ARITHMETIC[op](x, y)
            case FunctionCall(name, args):
                return float(FUNCTIONS[name].value(*(np.float64(self._of(arg, at)) for arg in args)))
            case IndexReduction(kind, body, index):
                values = [self._of(body, {**at, index: n}) for n in range(self._extent(node))]
                if kind in ("sum", "prod"):
                    return sum(values) if kind == "sum" else math.prod(values)
                if kind in ("argmax", "argmin"):
                    return float(np.argmax(values) if kind == "argmax" else np.argmin(values))
                return max(values) if kind == "max" else min(values)
            case ConditionalValue(condition, yes, no):
                return self._of(yes if self._of(condition, at) else no, at)
            case Relation(op, left, right):
                return float(_RELATIONS[op](self._of(left, at), self._of(right, at)))
            case Connective(op, left, right):
                x, y = bool(self._of(left, at)), bool(self._of(right, at))
                return float(x and y if op == "and" else x or y)
            case Complement(operand):
                return float(not self._of(operand, at))
            case _:
                assert_never(node)

    def _place(self, indices: tuple[SpecNode, ...], at: Indices) -> tuple[int, ...]:
        """Where an element lies. What its indices are computed from is no part of the value."""
        outer, self._in_index = self._in_index, True
        place = tuple(int(self._of(index, at)) for index in indices)
        self._in_index = outer
        return place

    def _extent(self, node: IndexReduction) -> int:
        return reduction_extent(node, self._shapes, self._symbols)

    def _group(self, kind: GroupKind, node: SpecNode, at: Indices) -> SpecifiedGroup:
        found = []
        for sign, member, where in self._members(kind, node, at, 1):
            found.append(SpecifiedAddend(sign * self._of(member, where), tuple(self._read(member, where))))
        return SpecifiedGroup(kind, tuple(found))

    def _members(
        self, kind: GroupKind, node: SpecNode, at: Indices, sign: int
    ) -> Iterator[tuple[int, SpecNode, Indices]]:
        match node:
            case Arithmetic("+" | "-" as op, left, right) if kind == "sum":
                yield from self._members(kind, left, at, sign)
                yield from self._members(kind, right, at, -sign if op == "-" else sign)
            case Negation(operand) if kind == "sum":
                yield from self._members(kind, operand, at, -sign)
            case IndexReduction(own, body, index) if own == kind:
                for n in range(self._extent(node)):
                    yield from self._members(kind, body, {**at, index: n}, sign)
            case FunctionCall(name, args) if _CHOSEN.get(name) == kind:
                for arg in args:
                    yield from self._members(kind, arg, at, sign)
            case _:
                yield sign, node, at

    def _read(self, node: SpecNode, at: Indices) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The elements an addend is made of, without those of reductions inside it."""
        match node:
            case TensorElement(tensor, indices):
                yield tensor, self._place(indices, at)
            case Arithmetic(_, left, right):
                yield from self._read(left, at)
                yield from self._read(right, at)
            case FunctionCall(_, args):
                for arg in args:
                    yield from self._read(arg, at)
            case Negation(operand):
                yield from self._read(operand, at)
            case ConditionalValue(condition, yes, no):
                yield from self._read(yes if self._of(condition, at) else no, at)
            case (
                NumberLiteral() | IndexName() | SizeName() | ScalarName() | IndexReduction() | Relation()
                | Connective() | Complement()
            ):  # fmt: skip
                return
            case _:
                assert_never(node)


def group_kind(node: SpecNode) -> GroupKind | None:
    """Whether a node is a sum, a maximum or a minimum."""
    match node:
        case Arithmetic("+" | "-") | Negation() | IndexReduction("sum"):
            return "sum"
        case IndexReduction(kind="max" | "min" as kind):
            return _CHOSEN[kind]
        case FunctionCall(name):
            return _CHOSEN.get(name)
        case _:
            return None
