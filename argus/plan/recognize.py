"""Nodes that a template computes together, as one node.

    cumsum(x * mask), mask of truth values       scan of x and mask
    flip(cumsum(flip(x)))                        scan from the end
    cat(zeros, cumsum(all but the last))         exclusive scan
    x / mean(abs(x)), x / sqrt(sum(square(x)))   norm of an axis
    a reduction over axes of one element         the elements themselves
    x * sigmoid(x)                               silu
    x / 2 * (1 + tanh(c * (x + d * x^3)))        gelu_tanh, with its c and d

The value in float64 stays what it was; a test compares both. Nodes in between that nothing else needs go with
`without_unused`.
"""

from __future__ import annotations

import math
from dataclasses import replace

from argus.plan.graph import Graph, Node

NEUTRAL = {"sum": 0.0, "prod": 1.0}


def recognized(graph: Graph) -> Graph:
    """The graph with such nodes put together."""
    nodes: dict[str, Node] = {}
    for node in graph.nodes.values():
        found = node
        if node.op == "scan":
            found = _masked(nodes, node)
        elif node.op == "flip":
            found = _from_the_end(nodes, node)
        elif node.op == "cat":
            found = _exclusive(nodes, node)
        elif node.op == "div":
            found = _norm(nodes, node)
        elif node.op == "mul":
            found = _gated(nodes, node)
        elif node.op == "reduce" and all(nodes[node.inputs[0]].shape[dim] == 1 for dim in node.attributes["dims"]):
            same = nodes[node.inputs[0]].dtype == node.dtype
            found = replace(node, op="view", attributes={}) if same else node
        nodes[node.name] = found
    return Graph(nodes, graph.inputs, graph.parameters, graph.outputs)


def _norm(nodes: dict[str, Node], node: Node) -> Node:
    """Over the last axis there are l1 and l2."""
    x, below = (nodes[name] for name in node.inputs)
    kind, eps = "l1", 0.0
    if below.op == "sqrt":
        kind, below = "l2", nodes[below.inputs[0]]
        if below.op == "shift":
            kind, eps, below = "rms", below.attributes["p"], nodes[below.inputs[0]]
    if below.op != "reduce" or not below.attributes["keepdim"] or len(below.attributes["dims"]) != 1:
        return node
    dim, of = below.attributes["dims"][0], nodes[below.inputs[0]]
    same = of.op == ("abs" if kind == "l1" else "square") and of.inputs == (x.name,) and x.dtype == node.dtype
    if not same or below.attributes["kind"] != ("sum" if kind == "l2" else "mean"):
        return node
    if x.shape != node.shape or (kind == "rms" and math.prod(x.shape[dim + 1 :]) == 1):
        return node
    return replace(node, op="axis_norm", inputs=(x.name,), attributes={"kind": kind, "dim": dim, "eps": eps})


CUBIC, OUTER = 0.044715, math.sqrt(2 / math.pi)


def _gated(nodes: dict[str, Node], node: Node) -> Node:
    """A value times a sigmoid of itself, or half of it times one plus a tanh."""
    left, right = (nodes[name] for name in node.inputs)
    for x, gate in ((left, right), (right, left)):
        if gate.op == "sigmoid" and gate.inputs == (x.name,):
            return replace(node, op="silu", inputs=(x.name,), attributes={})
        if x.op == "scale" and x.attributes["p"] == 0.5 and gate.op == "shift" and gate.attributes["p"] == 1.0:
            value = x.inputs[0]
            if _is_tanh_of_cubic(nodes, nodes[gate.inputs[0]], value):
                return replace(node, op="gelu_tanh", inputs=(value,), attributes={})
    return node


def _is_tanh_of_cubic(nodes: dict[str, Node], tanh: Node, x: str) -> bool:
    """Whether a node is tanh(OUTER * (x + CUBIC * x * x * x))."""
    outer = nodes[tanh.inputs[0]] if tanh.op == "tanh" else tanh
    if outer.op != "scale" or abs(outer.attributes["p"] - OUTER) > 1e-7:
        return False
    total = nodes[outer.inputs[0]]
    if total.op != "add" or x not in total.inputs:
        return False
    term = nodes[total.inputs[1] if total.inputs[0] == x else total.inputs[0]]
    if term.op != "scale" or abs(term.attributes["p"] - CUBIC) > 1e-9:
        return False
    cube = nodes[term.inputs[0]]
    if cube.op != "mul" or x not in cube.inputs:
        return False
    square = nodes[cube.inputs[1] if cube.inputs[0] == x else cube.inputs[0]]
    return square.op == "square" and square.inputs == (x,)


def _masked(nodes: dict[str, Node], node: Node) -> Node:
    product = nodes[node.inputs[0]]
    if node.attributes["kind"] != "sum" or len(node.inputs) > 1 or product.op != "mul":
        return node
    for x, mask in (product.inputs, product.inputs[::-1]):
        if nodes[mask].dtype == "bool" and nodes[x].shape == nodes[mask].shape == node.shape:
            return replace(node, inputs=(x, mask))
    return node


def _from_the_end(nodes: dict[str, Node], node: Node) -> Node:
    scan = nodes[node.inputs[0]]
    if scan.op != "scan" or len(scan.inputs) > 1:
        return node
    before = nodes[scan.inputs[0]]
    same = node.attributes["dims"] == (scan.attributes["dim"],)
    if before.op != "flip" or before.attributes["dims"] != node.attributes["dims"] or not same:
        return node
    attributes = {**scan.attributes, "reverse": not scan.attributes["reverse"]}
    return replace(scan, name=node.name, inputs=before.inputs, attributes=attributes)


def _exclusive(nodes: dict[str, Node], node: Node) -> Node:
    if len(node.inputs) != 2:
        return node
    start, scan = (nodes[name] for name in node.inputs)
    dim = node.attributes["dim"]
    if start.op != "full" or scan.op != "scan" or len(scan.inputs) > 1 or scan.attributes["dim"] != dim:
        return node
    at, part = scan.attributes, nodes[scan.inputs[0]]
    neutral = start.attributes["value"] == NEUTRAL[at["kind"]] and start.shape[dim] == 1
    if not neutral or at["exclusive"] or at["reverse"] or part.op != "slice":
        return node
    cut = part.attributes
    all_but_last = (cut["dim"], cut["start"], cut["stop"], cut["step"]) == (dim, 0, node.shape[dim] - 1, 1)
    if not all_but_last or nodes[part.inputs[0]].shape != node.shape:
        return node
    return replace(scan, name=node.name, inputs=part.inputs, attributes={**at, "exclusive": True}, shape=node.shape)
