"""Operands that are broadcast along more groups of axes than a chain of maps has, made longer by a launch of their own.

    [2, 8, 5, 16, 5] - [8, 1, 16, 5]      the operand is copied to [8, 5, 16, 5], which is one group of axes

A map has three groups of axes (`fused_map`); an operand has whole ones. Of all ways to copy one operand or both along
some of their axes, the one that writes the fewest elements is taken. The copy is a map of a broadcast value: one
launch, or one for every axis where even that has too many groups. A map of a value broadcast along the last axis
multiplies by ones: a thread moves neighbors of that axis, so some operand must have it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

from argus.plan.graph import BINARY, UNARY, Graph, Node, Shape
from argus.plan.grouping import ChainOperand, boundaries, spans_of, unexpanded
from argus.plan.rewriting import Rewriting

GROUPS = 3
"""Groups of axes that `fused_map` has."""


def fitted(graph: Graph) -> Graph:
    """The graph with copies of operands that no map can read as they are."""
    made = Rewriting()
    for node in graph.nodes.values():
        sources = [unexpanded(graph, name) for name in node.inputs]
        if 0 in node.shape:  # refused by the planner
            made.nodes[node.name] = node
        elif node.op in BINARY and not fits([source.shape for source in sources], node.shape):
            _copied(made, node, sources)
        elif (
            node.op in UNARY
            and sources[0].name != node.inputs[0]
            and not _read_at_once(_aligned(sources[0].shape, node.shape), node.shape)
        ):
            seen = _broadcast(made, node, sources[0], _aligned(sources[0].shape, node.shape), node.shape)
            made.add(node, node.op, (seen,), node.shape, name=node.name, **node.attributes)
        else:
            made.nodes[node.name] = node
    return Graph(made.nodes, graph.inputs, graph.parameters, graph.outputs)


def fits(shapes: list[Shape], result: Shape) -> bool:
    """Whether a map can read values of these shapes, broadcast to that of its result."""
    points = boundaries([ChainOperand("", spans_of(shape, result)) for shape in shapes], math.prod(result))
    return points is not None and len(points) <= GROUPS + 1


def _copied(made: Rewriting, node: Node, sources: list[Node]) -> None:
    """The node with its operands copied; every operand in full is one group, so there is always a way."""
    shapes = [source.shape for source in sources]
    able = [pair for pair in _pairs(shapes, node.shape) if fits(pair, node.shape)]
    best = min(able, key=lambda pair: sum(math.prod(s) for s, old in zip(pair, shapes, strict=True) if s != old))
    names = [
        source.name if new == source.shape else _broadcast(made, node, source, _aligned(source.shape, new), new)
        for source, new in zip(sources, best, strict=True)
    ]
    made.add(node, node.op, (names[0], names[1]), node.shape, name=node.name, **node.attributes)


def _pairs(shapes: list[Shape], result: Shape) -> Iterator[list[Shape]]:
    for left in longer(shapes[0], result):
        for right in longer(shapes[1], result):
            yield [left, right]


def longer(shape: Shape, result: Shape) -> Iterator[Shape]:
    """The shape itself, then with some of its broadcast axes as long as the result's."""
    start = _aligned(shape, result)
    axes = [axis for axis, extent in enumerate(result) if start[axis] < extent]
    yield shape
    for count in range(1, len(axes) + 1):
        for chosen in combinations(axes, count):
            yield tuple(result[axis] if axis in chosen else extent for axis, extent in enumerate(start))


def _broadcast(made: Rewriting, node: Node, source: Node, old: Shape, new: Shape) -> str:
    """A copy of a value along axes; at once, or axis by axis from the last."""
    name, dtype, steps = source.name, source.dtype, [new]
    if not fits([old, *([new[_last(new) :]] if _along_last(old, new) else [])], new):
        axes = [axis for axis in range(len(new)) if old[axis] < new[axis]]
        steps = [old[:axis] + new[axis:] for axis in reversed(axes)]
    for shape in steps:
        name = _once(made, node, name, dtype, old, shape)
        old = shape
    return name


def _once(made: Rewriting, node: Node, name: str, dtype: str, old: Shape, new: Shape) -> str:
    """One map that copies; along the last axis it is a product with ones, since some value must have that axis."""
    if _along_last(old, new):
        ones = made.add(node, "full", (), new[_last(new) :], dtype=dtype, value=1.0)
        return made.add(node, "mul", (name, ones), new, dtype=dtype)
    seen = made.add(node, "expand", (name,), new, dtype=dtype)
    return made.add(node, "none", (seen,), new, dtype=dtype)


def _read_at_once(old: Shape, new: Shape) -> bool:
    """Whether a map of one value reads it broadcast."""
    return fits([old], new) and not _along_last(old, new)


def _along_last(old: Shape, new: Shape) -> bool:
    """Whether the last axis that has more than one element is broadcast."""
    return any(extent > 1 for extent in new) and old[_last(new)] < new[_last(new)]


def _last(shape: Shape) -> int:
    return max(axis for axis, extent in enumerate(shape) if extent > 1)


def _aligned(shape: Shape, result: Shape) -> Shape:
    return (1,) * (len(result) - len(shape)) + shape
