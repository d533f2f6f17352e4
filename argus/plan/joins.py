"""Values that stand beside each other along an axis: each is copied into its part of the result (`pad`)."""

from __future__ import annotations

import math

from argus.ir.kernel import KnobValue
from argus.plan.graph import Node
from argus.plan.grouping import Group
from argus.plan.planning import Planning
from argus.plan.views import View


def joined(planner: Planning, group: Group, node: Node) -> View:
    """Concatenation along `dim`; a launch for every operand."""
    dim = node.attributes["dim"]
    rows, inner = math.prod(node.shape[:dim]), math.prod(node.shape[dim + 1 :])
    row = node.shape[dim] * inner
    result = planner.temporary(node.shape, node.dtype)
    offset = 0
    for name in node.inputs:
        x = planner.row_major(planner.at(name), node.dtype, (node.name,))
        width = planner.graph.nodes[name].shape[dim] * inner
        knobs: dict[str, KnobValue] = {"DTYPE": node.dtype, "LANES": 64 if width > 16 else 16}
        sizes = {"Z": 1, "H": rows, "W": width, "sZ": rows * row, "sH": row}
        part = View(result.buffer, result.shape, result.strides, offset)
        planner.emit("pad", "pad", knobs, sizes, {"X": x, "Y": part}, nodes=tuple(group.nodes))
        offset += width
    return result
