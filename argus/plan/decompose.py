"""Nodes that no template computes, taken apart into nodes that templates do.

    group_norm of a matrix     layer norm of the groups' rows, then factor and bias of every column
    windows of one pixel       a convolution is a product of the weights with every image

The value in float64 stays what it was, up to rounding; a test compares both.
"""

from __future__ import annotations

import math

from argus.plan.graph import Graph, Node
from argus.plan.rewriting import Rewriting


def decomposed(graph: Graph) -> Graph:
    """The graph with such nodes taken apart."""
    made = Rewriting()
    for node in graph.nodes.values():
        if node.op == "group_norm" and len(node.shape) == 2:
            _group_norm(made, node)
        elif node.op == "convolution" and _of_one_pixel(graph, node):
            _product(made, graph, node)
        else:
            made.nodes[node.name] = node
    return Graph(made.nodes, graph.inputs, graph.parameters, graph.outputs)


def _group_norm(made: Rewriting, node: Node) -> None:
    x, weight, bias = node.inputs
    rows, columns = node.shape
    groups = node.attributes["groups"]
    each = columns // groups
    seen = made.add(node, "view", (x,), (rows * groups, each))
    normal = made.add(node, "layer_norm", (seen,), (rows * groups, each), axes=1, eps=node.attributes["eps"])
    back = made.add(node, "view", (normal,), node.shape)
    scaled = made.add(node, "mul", (back, weight), node.shape)
    made.add(node, "add", (scaled, bias), node.shape, name=node.name)


def _of_one_pixel(graph: Graph, node: Node) -> bool:
    at = node.attributes
    window = graph.nodes[node.inputs[1]].shape[2:]
    return set(window) == {1} and at["groups"] == 1 and set(at["stride"]) == {1} and not any(at["padding"])


def _product(made: Rewriting, graph: Graph, node: Node) -> None:
    x, weight = (graph.nodes[name] for name in node.inputs)
    images, channels = x.shape[:2]
    pixels, features = math.prod(x.shape[2:]), weight.shape[0]
    matrix = made.add(node, "view", (weight.name,), (features, channels))
    flat = made.add(node, "view", (x.name,), (images, channels, pixels))
    result = made.add(node, "matmul", (matrix, flat), (images, features, pixels))
    made.add(node, "view", (result,), node.shape, name=node.name)
