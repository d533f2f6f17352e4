"""The part of every tensor that some elements of a result depend on, and the specification of that part alone.

    C[m, n] = sum(A[m, k] * B[n, k], k)         at m = 512 .. 767 and n = 0 .. 255, of 16384 x 16384 with K = 4096
    cut(spec, shapes, symbols, positions)       C[m, n] = sum(A[m - 512, k] * B[n, k], k)
                                                A: rows 512 .. 767, all of k;  B: rows 0 .. 255, all of k

A window is an interval of every axis, from the least to the greatest place where an index can be there: intervals go
through + - * // %. A place that data decide may be anywhere on its axis. What is outside of the tensor stays outside of
the window, so that elements there are zero as before; indices keep their values, since they may be compared, and only
what is looked up is moved. The law: `evaluate(cut.spec, windows, symbols, positions)` is `evaluate(spec, tensors,
symbols)` at these positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from argus.spec.evaluation import Positions
from argus.spec.extents import reduction_extent
from argus.spec.tree import (
    Arithmetic,
    IndexName,
    IndexReduction,
    Negation,
    NumberLiteral,
    ResultSpec,
    ScalarName,
    SizeName,
    SpecNode,
    TensorElement,
    type_of,
)
from argus.spec.walk import children, with_children

Interval = tuple[int, int]
"""The least and the greatest number."""
Window = tuple[range, ...]


@dataclass(frozen=True, slots=True)
class CutSpec:
    """A specification whose tensors are windows. A tensor that it does not read has none."""

    spec: ResultSpec
    windows: Mapping[str, Window]

    @property
    def elements(self) -> int:
        """Elements of all windows."""
        return sum(int(np.prod([len(r) for r in window], dtype=np.int64)) for window in self.windows.values())


def cut(
    spec: ResultSpec, shapes: Mapping[str, tuple[int, ...]], symbols: Mapping[str, float], positions: Positions
) -> CutSpec:
    """The specification at `positions`, which every index of the result has."""
    places = {index: (int(positions[index].min()), int(positions[index].max())) for index in spec.indices}
    found: dict[str, list[Interval]] = {}
    _look_up(spec.expression, places, shapes, symbols, found)
    windows = {
        name: tuple(range(max(low, 0), max(min(high + 1, extent), max(low, 0))) for (low, high), extent in axes)
        for name, axes in ((name, zip(found[name], shapes[name], strict=True)) for name in found)
    }
    return CutSpec(replace(spec, expression=_moved(spec.expression, windows)), windows)


def _look_up(
    node: SpecNode,
    places: Mapping[str, Interval],
    shapes: Mapping[str, tuple[int, ...]],
    symbols: Mapping[str, float],
    found: dict[str, list[Interval]],
) -> None:
    """Where the elements below a node are, joined with what is `found` already."""
    if isinstance(node, IndexReduction):
        inside = {**places, node.index: (0, max(reduction_extent(node, shapes, symbols) - 1, 0))}
        _look_up(node.body, inside, shapes, symbols, found)
        return
    if isinstance(node, TensorElement):
        here = [
            _interval(item, places, symbols) or (0, extent - 1)
            for item, extent in zip(node.indices, shapes[node.tensor], strict=True)
        ]
        known = found.get(node.tensor, here)
        found[node.tensor] = [(min(x[0], y[0]), max(x[1], y[1])) for x, y in zip(known, here, strict=True)]
    for child in children(node):
        _look_up(child, places, shapes, symbols, found)


def _interval(node: SpecNode, places: Mapping[str, Interval], symbols: Mapping[str, float]) -> Interval | None:
    """Between which numbers a whole number is; None where data decide, or nothing is known."""
    match node:
        case NumberLiteral(int() as value):
            return value, value
        case SizeName(name) | ScalarName(name) if name in symbols and type_of(node) == "whole":
            return int(symbols[name]), int(symbols[name])
        case IndexName(name):
            return places[name]
        case Negation(operand):
            inner = _interval(operand, places, symbols)
            return None if inner is None else (-inner[1], -inner[0])
        case Arithmetic(op, left, right):
            x, y = _interval(left, places, symbols), _interval(right, places, symbols)
            return None if x is None or y is None else _arithmetic(op, x, y)
        case _:
            return None


def _arithmetic(op: str, x: Interval, y: Interval) -> Interval | None:
    match op:
        case "+":
            return x[0] + y[0], x[1] + y[1]
        case "-":
            return x[0] - y[1], x[1] - y[0]
        case "*":
            corners = [a * b for a in x for b in y]
            return min(corners), max(corners)
        case "//" if y[0] == y[1] > 0:
            return x[0] // y[0], x[1] // y[0]
        case "%" if y[0] == y[1] > 0:
            return (x[0] % y[0], x[1] % y[0]) if x[0] // y[0] == x[1] // y[0] else (0, y[0] - 1)
        case _:
            return None


def _moved(node: SpecNode, windows: Mapping[str, Window]) -> SpecNode:
    """The tree with places counted from where each window begins."""
    made = with_children(node, tuple(_moved(child, windows) for child in children(node)))
    if not isinstance(made, TensorElement):
        return made
    starts = [part.start for part in windows[made.tensor]]
    return replace(
        made,
        indices=tuple(
            Arithmetic("-", item, NumberLiteral(start)) if start else item
            for item, start in zip(made.indices, starts, strict=True)
        ),
    )
