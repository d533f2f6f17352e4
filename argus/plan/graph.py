"""A small typed graph: what a module computes, as operations on tensors of known shapes and element types.

    graph = Graph(inputs=("x",), parameters=("w",), outputs=("y",), nodes={
        "x": Node("x", "input", shape=(8, 64), dtype="f32"),
        "w": Node("w", "parameter", shape=(32, 64), dtype="f32"),
        "t": Node("t", "permute", ("w",), {"dims": (1, 0)}, (64, 32), "f32"),
        "m": Node("m", "matmul", ("x", "t"), {}, (8, 32), "f32"),
        "y": Node("y", "gelu", ("m",), {}, (8, 32), "f32"),
    })

Nodes are in an order in which every one follows its operands. The set of operations is closed: elementwise functions by
the names of `argus.kernels.activations` and `argus.kernels.chain` (a number beside the operand is the attribute `p`),
operations of two operands, which broadcast as numpy does, views, contractions, reductions, normalizations and windows.
`argus.plan.evaluate` gives every one its value in float64; `argus.plan.grouping` puts nodes together to launches.

Shapes are numbers: a plan is made for one set of sizes. No node writes into an operand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

UNARY = (
    "none", "relu", "relu6", "leaky", "elu", "selu", "gelu", "gelu_tanh", "silu", "sigmoid", "logsigmoid", "tanh",
    "mish", "softplus", "softsign", "hardtanh", "hardsigmoid", "hardswish", "abs", "square", "exp", "scale", "shift",
    "log", "sqrt", "rsqrt", "reciprocal", "atleast", "atmost", "from", "over",
    "huber", "log_or_zero",
)  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "min", "max")
VIEWS = ("view", "permute", "expand", "slice")
REDUCTIONS = ("sum", "mean", "max", "min", "logsumexp")
OTHERS = (
    "matmul",
    "convolution",
    "conv_transpose",
    "reduce",
    "softmax",
    "log_softmax",
    "layer_norm",
    "axis_norm",
    "group_norm",
    "batch_norm",
    "pool",
    "triangle",
    "scan",
    "argreduce",
    "flip",
    "cat",
    "full",
    "batch_statistic",
    "cross_entropy",
)
SOURCES = ("input", "parameter")
OPERATIONS = (*SOURCES, *UNARY, *BINARY, *VIEWS, *OTHERS)
FLOATS = ("f32", "bf16", "f16")

Shape = tuple[int, ...]


class PlanError(ValueError):
    """A module that cannot become a plan; `code` is in the manual, the message names node, line and what is nearest."""

    def __init__(self, code: str, message: str, node: str = "", line: str = "") -> None:
        where = f" (node {node}" + (f", {line}" if line else "") + ")" if node else ""
        super().__init__(f"{code}: {message}{where}")
        self.code, self.node, self.line = code, node, line


@dataclass(frozen=True, slots=True)
class Node:
    """One operation and its result. `line`: where the module's source asks for it."""

    name: str
    op: str
    inputs: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    shape: Shape = ()
    dtype: str = "f32"
    line: str = ""

    def __post_init__(self) -> None:
        if self.op not in OPERATIONS:
            raise PlanError("ARG-G101", f"there is no operation {self.op!r} in a graph", self.name, self.line)

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def elementwise(self) -> bool:
        return self.op in UNARY or self.op in BINARY

    def text(self) -> str:
        attributes = "".join(f" {key}={value}" for key, value in self.attributes.items())
        operands = ", ".join(self.inputs)
        return f"{self.name}: {self.dtype}{list(self.shape)} = {self.op}({operands}){attributes}"


@dataclass(frozen=True)
class Graph:
    """Nodes by name, in order."""

    nodes: Mapping[str, Node]
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        known: set[str] = set()
        for node in self.nodes.values():
            missing = [name for name in node.inputs if name not in known]
            if missing:
                raise PlanError("ARG-G101", f"{missing[0]} is used before it is made", node.name, node.line)
            known.add(node.name)

    @cached_property
    def consumers(self) -> Mapping[str, tuple[str, ...]]:
        """Who uses a value, in order; a node that uses it twice stands there once."""
        found: dict[str, list[str]] = {name: [] for name in self.nodes}
        for node in self.nodes.values():
            for name in dict.fromkeys(node.inputs):
                found[name].append(node.name)
        return {name: tuple(users) for name, users in found.items()}

    def text(self) -> str:
        return "\n".join(node.text() for node in self.nodes.values())


def without_unused(graph: Graph) -> Graph:
    """The graph without nodes that no output needs; inputs and parameters stay."""
    needed = set(graph.outputs)
    for node in reversed(list(graph.nodes.values())):
        if node.name in needed:
            needed |= set(node.inputs)
    kept = {name: node for name, node in graph.nodes.items() if name in needed or node.op in SOURCES}
    return Graph(kept, graph.inputs, graph.parameters, graph.outputs)
