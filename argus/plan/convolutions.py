"""Convolutions that templates compute: depthwise ones, every channel with its own filter, in one and two dimensions.

The input is padded by a launch of its own and read as windows (`argus.kernels.windows`). A convolution with windows of
one pixel is a product and never comes here (`argus.plan.decompose`). The bias is a map after it.
"""

from __future__ import annotations

from argus.plan.graph import Node, PlanError
from argus.plan.grouping import Group
from argus.plan.planning import Planning
from argus.plan.views import View
from argus.plan.windows import padded, window_knobs

NEAREST = "nearest are depthwise ones in one and two dimensions, and windows of one pixel"


def convolved(planner: Planning, group: Group, node: Node) -> View:
    """A depthwise convolution; any other is refused."""
    at = node.attributes
    weight = planner.graph.nodes[node.inputs[1]]
    rank = len(node.shape) - 2
    channels = planner.graph.nodes[node.inputs[0]].shape[1]
    if rank > 2 or at["groups"] != channels or weight.shape[0] != channels:
        size = " x ".join(map(str, weight.shape[2:]))
        stated = f"a convolution of {size} in {at['groups']} groups has no template"
        raise PlanError("ARG-G104", f"{stated}; {NEAREST}", node.name, node.line)
    x = planner.row_major(planner.at(node.inputs[0]), node.dtype, (node.name,))
    batch = node.shape[0]
    space = (1,) * (2 - rank) + x.shape[2:]
    padding = (0,) * (2 - rank) + tuple(at["padding"])
    (stride_h, stride_w), (dilation_h, dilation_w) = (
        (1,) * (2 - rank) + tuple(at[name]) for name in ("stride", "dilation")
    )
    x = padded(planner, x, batch * channels, space, padding, node, 0.0)
    height, width = (extent + 2 * p for extent, p in zip(space, padding, strict=True))
    down, across = (1,) * (2 - rank) + node.shape[2:]
    window = (1,) * (2 - rank) + weight.shape[2:]
    knobs = window_knobs(node, (window[0], window[1]), stride_w, dilation_w, across)
    sizes = {
        "B": batch,
        "C": channels,
        "P": down,
        "Q": across,
        "sB": channels * height * width,
        "sZ": height * width,
        "sP": stride_h * width,
        "sR": dilation_h * width,
    }
    result = planner.temporary(node.shape, node.dtype)
    arguments = {"X": x, "F": planner.typed(weight.name, "f32"), "Y": result}
    planner.emit("depthwise", "depthwise", knobs, sizes, arguments, nodes=tuple(group.nodes))
    return result
