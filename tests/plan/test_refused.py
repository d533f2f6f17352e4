"""What has no template is refused with a code, the node and the line of the module; nothing is half planned."""

from __future__ import annotations

import pytest

from argus.plan.codes import CODES
from argus.plan.graph import Graph, Node, PlanError
from argus.plan.planner import planned
from tests.plan.graphs import Builder


def integers() -> Graph:
    made = Builder()
    return made.graph(made.add("abs", made.input(4, 4, dtype="i64"), dtype="i64"))


def empty() -> Graph:
    made = Builder()
    return made.graph(made.add("relu", made.input(0, 4)))


def window() -> Graph:
    made = Builder()
    x = made.input(1, 1, 40, 40)
    sizes = {"window": (12, 12), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
    return made.graph(made.add("pool", x, shape=(1, 1, 29, 29), kind="max", **sizes))


def two_batches() -> Graph:
    made = Builder()
    left, right = made.input(2, 1, 4, 5), made.input(1, 3, 5, 6)
    a, b = made.add("expand", left, shape=(2, 3, 4, 5)), made.add("expand", right, shape=(2, 3, 5, 6))
    return made.graph(made.add("matmul", a, b, shape=(2, 3, 4, 6)))


def deep_windows() -> Graph:
    made = Builder()
    x, weight = made.input(1, 64, 33, 33, 33, dtype="bf16"), made.input(64, 64, 5, 5, 5, parameter=True, dtype="bf16")
    at = {"stride": (3, 3, 3), "padding": (0, 0, 0), "dilation": (1, 1, 1), "groups": 1}
    return made.graph(made.add("convolution", x, weight, dtype="bf16", shape=(1, 64, 10, 10, 10), **at))


def triangle_alone() -> Graph:
    made = Builder()
    return made.graph(made.add("triangle", made.input(5, 5), shape=(5, 5), side="lower"))


@pytest.mark.parametrize(
    ("graph", "code", "words"),
    [
        (integers, "ARG-G102", "abs of i64 has no template; nearest is f32 (node n1, module.py:1)"),
        (empty, "ARG-G103", "relu has no elements: [0, 4] (node n1, module.py:1)"),
        (window, "ARG-G104", "windows of 12 x 12, stride 1, dilation 1 along columns have no template; there are"),
        (
            two_batches,
            "ARG-G104",
            "a copy of x0[2x3x4x5] strides [20, 0, 5, 1] repeats elements; nearest is an operand that is not",
        ),
        (deep_windows, "ARG-G103", "no tile holds 125 taps at strides (3, 3) of 64 channels of bf16 in registers"),
        (triangle_alone, "ARG-G101", "no template computes triangle (node n1, module.py:1)"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_refusals(graph: object, code: str, words: str) -> None:
    assert callable(graph)
    with pytest.raises(PlanError) as found:
        planned(graph())
    assert found.value.code == code
    assert code in CODES
    assert words in str(found.value)


def test_an_unknown_operation_and_a_wrong_order() -> None:
    with pytest.raises(PlanError, match="there is no operation 'cumsum' in a graph"):
        Node("y", "cumsum", ("x",), {}, (4,))
    late = {"y": Node("y", "relu", ("x",), {}, (4,)), "x": Node("x", "input", (), {}, (4,))}
    with pytest.raises(PlanError, match="x is used before it is made"):
        Graph(late, ("x",), (), ("y",))


def test_a_launch_that_cannot_be_cut_is_refused() -> None:
    """A sum over one column is not cut along what it adds up."""
    made = Builder()
    graph = made.graph(made.reduce(made.input(500, 2), "sum", (0,)))
    with pytest.raises(
        PlanError, match=r"ARG-G103: reduce_axis would reach 4000 bytes, and no axis of it can be cut: not"
    ):
        planned(graph, limit=1000)
