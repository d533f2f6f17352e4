"""Chains of maps alone: one launch of `fused_map`.

The axes of the result are put together to at most three, so that every operand has whole axes: a bias of channels of
[N, C, H, W] makes A = N, B = C, C = H * W; without operands there is one axis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

from argus.ir.kernel import KnobValue
from argus.ops.choice import BYTES
from argus.plan.choices import ShapeClass
from argus.plan.graph import Node, PlanError
from argus.plan.grouping import NAMES, ChainStep, Group, Spans, boundaries, broadcast_head, operand_kind
from argus.plan.planning import Planning
from argus.plan.views import View

QUICKER = ("elu", "selu", "logsigmoid", "tanh", "mish", "softplus", "hardsigmoid", "hardswish", "exp")
"""Functions that the knob FAST of `argus.kernels.activations` changes."""


def step_knobs(steps: list[ChainStep], result: str) -> dict[str, KnobValue]:
    """The steps of a chain, in single instructions of the chip where the result has two bytes."""
    fast = BYTES[result] < 4 and any(step.name in QUICKER for step in steps)
    return {f"S{number}": step.name for number, step in enumerate(steps)} | ({"FAST": True} if fast else {})


def step_scalars(steps: list[ChainStep]) -> dict[str, float]:
    return {f"p{number}": step.p for number, step in enumerate(steps)}


def chained(
    planner: Planning, group: Group, dtype: str, names: Mapping[str, str] | None = None
) -> tuple[dict[str, KnobValue], dict[str, View], dict[str, float]]:
    """Knobs, operands and scalars of the chain after a head; `names`: what its kernel calls kinds of axes."""
    knobs = step_knobs(group.steps, dtype)
    arguments: dict[str, View] = {}
    for name, operand in zip(NAMES, group.operands, strict=False):
        kind = operand_kind(group, operand)
        knobs[f"HAS_{name}"] = (names or {}).get(kind, kind)
        arguments[name] = planner.row_major(planner.at(operand.value), dtype, (operand.value,))
    return knobs, arguments, step_scalars(group.steps)


def chain(planner: Planning, group: Group) -> View:
    """The launch of a chain of maps; its result, row-major."""
    graph = planner.graph
    tail, head = graph.nodes[group.tail], graph.nodes[group.head]
    points = boundaries([*group.operands, *broadcast_head(group)], tail.elements)
    if not group.possible or points is None:
        node = graph.nodes[group.nodes[0]]
        shapes = " and ".join(str(list(graph.nodes[name].shape)) for name in node.inputs)
        nearest = "nearest is an operand of the result's shape with others broadcast along at most three groups of axes"
        raise PlanError("ARG-G104", f"{node.op} of {shapes} has no template; {nearest}", node.name, node.line)
    extents = [high // low for low, high in pairwise(points)][::-1]
    extents = [1] * (3 - len(extents)) + extents
    spans = _spans(points)
    knobs: dict[str, KnobValue] = {"DTYPE": head.dtype, "RESULT": tail.dtype, **step_knobs(group.steps, tail.dtype)}
    if group.spans is not None:
        knobs["HAS_X"] = _kind(group.spans, spans)
    given = graph.nodes[group.operands[0].value].dtype if group.operands else head.dtype
    knobs |= {"GIVEN": given} if given != head.dtype else {}
    arguments = {"X": planner.row_major(planner.at(group.head), head.dtype, (group.head,))}
    for name, operand in zip(NAMES, group.operands, strict=False):
        node = graph.nodes[operand.value]
        arguments[name] = planner.row_major(planner.at(operand.value), node.dtype, (node.name,))
        knobs[f"HAS_{name}"] = _kind(operand.spans, spans)
    knobs["WIDE"] = math.gcd(4, extents[2])
    shape: ShapeClass = {**dict(zip("abc", extents, strict=True)), **knobs}
    able = tuple({"CHUNKS": chunks} for chunks in (4, 8, 2, 1))
    knobs |= {n: c for n, c in planner.choices.take("map-pieces", shape, able[0], lambda: able).items() if c != 4}
    result = planner.temporary(tail.shape, tail.dtype)
    sizes = dict(zip("ABC", extents, strict=True))
    planner.emit(
        "fused_map",
        "fused_map",
        knobs,
        sizes,
        {**arguments, "Y": result},
        step_scalars(group.steps),
        tuple(group.nodes),
    )
    return result


def copied(planner: Planning, view: View, result: View, node: Node, dtype: str = "", given: str = "") -> None:
    """A copy of what lies row-major, in the element type `dtype`, of what is `given`; both are the node's otherwise."""
    knobs: dict[str, KnobValue] = {
        "DTYPE": given or node.dtype,
        "RESULT": dtype or node.dtype,
        "WIDE": math.gcd(4, node.elements),
    }
    sizes = {"A": 1, "B": 1, "C": node.elements}
    planner.emit("fused_map", "fused_map", knobs, sizes, {"X": view, "Y": result}, nodes=(node.name,))


def _spans(points: tuple[int, ...]) -> dict[str, tuple[int, int]]:
    """The spans of axes c, b, a, as far as there are so many."""
    return dict(zip("cba", pairwise(points), strict=False))


def _kind(spans: Spans, axes: dict[str, tuple[int, int]]) -> str:
    """Which axes an operand has, as the kernel names them."""
    found = [name for name in "abc" if name in axes and any(a <= axes[name][0] < axes[name][1] <= b for a, b in spans)]
    return "".join(found) or "one"
