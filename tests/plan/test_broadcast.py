"""Operands that a map cannot read as they are, and views that one copy has no strides for: copied first, and right."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from argus.plan.graph import Graph, Shape
from argus.plan.planner import planned
from tests.plan.graphs import Builder
from tests.plan.test_meaning import same


def joined(left: Shape, right: Shape, op: str = "sub", expanded: bool = False) -> Graph:
    made = Builder()
    x, y = made.input(*left), made.input(*right)
    if expanded:
        y = made.add("expand", y, shape=np.broadcast_shapes(left, right))
    return made.graph(made.add("relu", made.add(op, x, y)))


@pytest.mark.parametrize(
    ("left", "right", "launches"),
    [
        ((2, 8, 5, 16, 5), (8, 1, 16, 5), 2),
        ((8, 1, 16, 5), (2, 8, 5, 16, 5), 2),
        ((5, 1, 3, 1), (1, 6, 1, 4), 3),
        ((2, 3, 4, 5, 6), (2, 1, 4, 1, 6), 2),
        ((1, 2, 11, 17, 20), (1, 11, 1, 20), 2),
        ((5, 1), (1, 7), 1),
    ],
)
@pytest.mark.parametrize("expanded", [False, True])
def test_few_copies_make_operands_fit(left: Shape, right: Shape, launches: int, expanded: bool) -> None:
    if expanded and np.broadcast_shapes(left, right) != left:
        pytest.skip("an expanded value beside one that is not whole")
    assert same(joined(left, right, expanded=expanded)) == launches


def test_any_two_shapes_that_are_broadcast() -> None:
    draw = random.Random(3)
    for _ in range(60):
        shape = [draw.choice((1, 2, 3, 4, 5)) for _ in range(draw.randint(1, 6))]
        left, right = (tuple(e if draw.random() < 0.6 else 1 for e in shape) for _ in range(2))
        same(joined(left, right[draw.randint(0, len(right) - 1) :], draw.choice(("sub", "mul", "min"))))


@pytest.mark.parametrize(
    ("shape", "launches"),
    [((5, 4), 1), ((3, 1, 4), 2), ((3, 5, 1), 1), ((1,), 1), ((2, 3, 1, 1), 1), ((1, 3, 1, 1), 3)],
)
def test_maps_of_a_broadcast_value(shape: Shape, launches: int) -> None:
    made = Builder()
    x = made.add("expand", made.input(*shape), shape=(2, 3, 5, 4))
    assert same(made.graph(made.add("tanh", x))) == launches


@pytest.mark.parametrize("dims", [(0, 3, 2, 1, 4), (0, 4, 3, 2, 1), (4, 2, 0, 3, 1), (5, 3, 1, 4, 2, 0)])
def test_copies_with_more_than_four_strides(dims: tuple[int, ...]) -> None:
    """Outer axes are launches of their own."""
    made = Builder()
    x = made.permute(made.input(*(2, 3, 4, 5, 6, 2)[: len(dims)]), *dims)
    shape = made.nodes[x].shape
    rows = made.add("view", x, shape=(shape[0], math.prod(shape[1:])))
    graph = made.graph(made.add("softmax", rows, dim=1))
    same(graph)
    assert sum(launch.file == "reorder" for launch in planned(graph).launches) >= shape[0]
