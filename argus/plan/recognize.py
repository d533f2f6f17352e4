"""Nodes that a template computes together, as one node.

    cumsum(x * mask), mask of truth values       scan of x and mask
    flip(cumsum(flip(x)))                        scan from the end
    cat(zeros, cumsum(all but the last))         exclusive scan

The value in float64 stays what it was; a test compares both. Nodes in between that nothing else needs go with
`without_unused`.
"""

from __future__ import annotations

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
        nodes[node.name] = found
    return Graph(nodes, graph.inputs, graph.parameters, graph.outputs)


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
