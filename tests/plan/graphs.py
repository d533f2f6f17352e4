"""Graphs to plan: built by hand or drawn, with inputs for them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.plan.graph import Graph, Node, Shape


class Builder:
    """A graph, node by node; every node has the next number as its name."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.inputs: list[str] = []
        self.parameters: list[str] = []

    def input(self, *shape: int, parameter: bool = False, dtype: str = "f32") -> str:
        name = f"{'w' if parameter else 'x'}{len(self.nodes)}"
        self.nodes[name] = Node(name, "parameter" if parameter else "input", (), {}, shape, dtype)
        (self.parameters if parameter else self.inputs).append(name)
        return name

    def add(self, op: str, *inputs: str, shape: Shape | None = None, dtype: str = "f32", **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        shapes = [self.nodes[i].shape for i in inputs]
        made = shape if shape is not None else np.broadcast_shapes(*shapes)
        self.nodes[name] = Node(name, op, inputs, attributes, tuple(made), dtype, f"module.py:{len(self.nodes)}")
        return name

    def matmul(self, a: str, b: str) -> str:
        x, y = self.nodes[a].shape, self.nodes[b].shape
        return self.add("matmul", a, b, shape=(*x[:-1], y[-1]))

    def permute(self, x: str, *dims: int) -> str:
        shape = self.nodes[x].shape
        return self.add("permute", x, shape=tuple(shape[d] for d in dims), dims=dims)

    def reduce(self, x: str, kind: str, dims: tuple[int, ...], keepdim: bool = False) -> str:
        shape = self.nodes[x].shape
        kept = tuple(1 if d in dims else e for d, e in enumerate(shape) if keepdim or d not in dims)
        return self.add("reduce", x, shape=kept, kind=kind, dims=dims, keepdim=keepdim)

    def linear(self, x: str, features: int) -> str:
        weight = self.input(features, self.nodes[x].shape[-1], parameter=True)
        bias = self.input(features, parameter=True)
        return self.add("add", self.matmul(x, self.permute(weight, 1, 0)), bias)

    def graph(self, *outputs: str) -> Graph:
        return Graph(self.nodes, tuple(self.inputs), tuple(self.parameters), outputs)


def drawn_inputs(graph: Graph, seed: int) -> dict[str, npt.NDArray[np.float32]]:
    """Numbers with zeros, ties and an offset among them."""
    rng = np.random.default_rng(seed)
    found = {}
    for name in (*graph.inputs, *graph.parameters):
        values = rng.standard_normal(graph.nodes[name].shape) * 1.5
        values = np.where(rng.random(values.shape) < 0.1, 0.0, values)
        found[name] = np.round(values * 64) / 64
    return {name: values.astype(np.float32) for name, values in found.items()}


MAPS = ("relu", "gelu", "silu", "tanh", "sigmoid", "mish", "leaky", "atleast", "atmost", "scale", "shift", "abs")
JOINS = ("add", "sub", "mul", "min", "max")


def drawn_graph(seed: int, length: int = 9) -> Graph:
    """A module of random operators on values of random shapes."""
    rng = random.Random(seed)
    made = Builder()
    shape = tuple(rng.choice((1, 2, 3, 5, 8, 17)) for _ in range(rng.choice((2, 3, 3, 4))))
    values = [made.input(*shape)]
    for _ in range(length):
        x = rng.choice(values[-3:])
        values.append(_drawn_node(made, rng, x, values))
    used = {name for node in made.nodes.values() for name in node.inputs}
    ends = [name for name in values if name not in used]
    return made.graph(*ends)


def _drawn_node(made: Builder, rng: random.Random, x: str, values: list[str]) -> str:
    shape = made.nodes[x].shape
    match rng.choice(("map", "map", "map", "join", "join", "bias", "linear", "reduce", "softmax", "permute", "view")):
        case "map":
            name = rng.choice(MAPS)
            return made.add(name, x, p=rng.choice((0.5, -1.25, 2.0)))
        case "join":
            same = [v for v in values if made.nodes[v].shape == shape]
            return made.add(rng.choice(JOINS), *rng.choice(((x, rng.choice(same)), (rng.choice(same), x))))
        case "bias":
            operand = made.input(*(e if rng.random() < 0.6 else 1 for e in shape), parameter=True)
            return made.add(rng.choice(JOINS), *((x, operand) if rng.random() < 0.7 else (operand, x)))
        case "linear" if len(shape) > 1:
            return made.linear(x, rng.choice((1, 4, 7, 16)))
        case "reduce" if len(shape) > 1:
            dims = tuple(d for d in range(len(shape)) if rng.random() < 0.5) or (len(shape) - 1,)
            kept = rng.random() < 0.5 or len(dims) == len(shape)
            return made.reduce(x, rng.choice(("sum", "mean", "max", "min", "logsumexp")), dims, kept)
        case "softmax" if shape:
            return made.add(rng.choice(("softmax", "log_softmax")), x, dim=rng.randrange(len(shape)))
        case "permute" if len(shape) > 1:
            dims = list(range(len(shape)))
            rng.shuffle(dims)
            return made.permute(x, *dims)
        case "view" if len(shape) > 1:
            return made.add("view", x, shape=(shape[0] * shape[1], *shape[2:]))
        case _:
            return made.add("tanh", x)
