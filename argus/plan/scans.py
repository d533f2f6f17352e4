"""Scans and places: `scan`, `scan_masked`, `scan_axis`, and the first place of a maximum or minimum (`argreduce`).

Over the last axis they are of rows, over another one of the middle axis of [A, K, C].
"""

from __future__ import annotations

import math

from argus.ir.kernel import KnobValue
from argus.ops.choice import BYTES
from argus.plan.graph import Node, PlanError
from argus.plan.grouping import Group
from argus.plan.planning import Planning
from argus.plan.views import View


def extents(node: Node, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """What stands before the axis, the axis, and what stands after it."""
    dim = node.attributes["dim"]
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])


def scanned(planner: Planning, group: Group, node: Node) -> View:
    """Sums or products of everything up to an element."""
    at = node.attributes
    x = planner.row_major(planner.at(node.inputs[0]), node.dtype, (node.name,))
    a, k, c = extents(node, node.shape)
    result = planner.temporary(node.shape, node.dtype)
    arguments = {"X": x, "Y": result}
    knobs: dict[str, KnobValue] = {
        "DTYPE": node.dtype, "OP": at["kind"], "EXCLUSIVE": at["exclusive"], "REVERSE": at["reverse"]
    }  # fmt: skip
    if c > 1:
        if len(node.inputs) > 1:
            stated = "a masked scan over an axis that is not the last has no template; nearest is the last axis"
            raise PlanError("ARG-G104", stated, node.name, node.line)
        knobs["DEPTH"] = math.gcd(8, k) if at["reverse"] and at["kind"] != "sum" else 8
        sizes = {"A": a, "K": k, "C": c}
        planner.emit("scan", "scan_axis", knobs, sizes, arguments, nodes=tuple(group.nodes))
        return result
    size = BYTES[node.dtype]
    knobs |= {"WIDTH": size * math.gcd(16 // size, k), "CHUNKS": _chunks(k, size, (1, 2))}
    kernel = "scan"
    if len(node.inputs) > 1:
        del knobs["OP"]
        kernel, arguments["mask"] = "scan_masked", planner.at(node.inputs[1])
        if not arguments["mask"].row_major:
            raise PlanError(
                "ARG-G104",
                "a mask that is a view has no template; nearest is one in row-major order",
                node.name,
                node.line,
            )
    planner.emit("scan", kernel, knobs, {"M": a, "N": k}, arguments, nodes=tuple(group.nodes))
    return result


def _chunks(length: int, size: int, known: tuple[int, ...]) -> int:
    """Accesses of a lane that hold a row, or the most there are."""
    return next((chunks for chunks in known if 64 * chunks * 16 // size >= length), known[-1])


def place(planner: Planning, group: Group, node: Node) -> View:
    """The first place of the largest or smallest element along an axis, as 64-bit integers."""
    source = planner.graph.nodes[node.inputs[0]]
    x = planner.row_major(planner.at(source.name), source.dtype, (node.name,))
    a, k, c = extents(node, source.shape)
    result = planner.temporary(node.shape, "i64")
    arguments = {"X": x, "Y": result}
    knobs: dict[str, KnobValue] = {"DTYPE": source.dtype, "OP": node.attributes["kind"], "PLACE": "i64"}
    if c > 1:
        knobs["DEPTH"] = math.gcd(8, k)
        sizes = {"A": a, "K": k, "C": c}
        planner.emit("argreduce", "argaxis", knobs, sizes, arguments, nodes=tuple(group.nodes))
        return result
    size = BYTES[source.dtype]
    chunks = _chunks(k, size, (1, 2, 4, 8))
    kernel = "argrow" if 64 * chunks * 16 // size >= k else "argrow_long"
    knobs |= {"WIDTH": size * math.gcd(16 // size, k), "CHUNKS": chunks}
    planner.emit("argreduce", kernel, knobs, {"M": a, "N": k}, arguments, nodes=tuple(group.nodes))
    return result
