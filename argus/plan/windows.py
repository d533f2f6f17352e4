"""Pooling: windows of the input as an overlapping view (`argus.kernels.windows`), padded by a launch of its own.

One and two dimensions are one launch of `pool`. Three are two: the planes, then along the depth. The padded array's
border is filled once and never written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from argus.ir.kernel import KnobValue
from argus.plan.graph import Node, PlanError
from argus.plan.grouping import Group
from argus.plan.planning import Planning
from argus.plan.views import View

HEIGHTS = (1, 2, 3, 4, 5, 7, 11)
WIDTHS = (1, 2, 3, 4, 5, 7, 8, 11)


def pooled(planner: Planning, group: Group, node: Node) -> View:
    """Maximum or mean of windows over the last one, two or three axes."""
    at = node.attributes
    x = planner.row_major(planner.at(node.inputs[0]), node.dtype, (node.name,))
    rank = len(at["window"])
    fill = -math.inf if at["kind"] == "max" else 0.0
    if any(at["padding"]):
        x = padded(planner, x, at["padding"], node, fill)
    outer = math.prod(x.shape[:-rank])
    space, results = x.shape[-rank:], node.shape[-rank:]
    if rank < 3:
        window = [(1, 1, 1, 1, 1)] * (2 - rank) + _axes(space, results, at)
        return planes(planner, x, outer, window, node, group, node.shape)
    axes = _axes(space, results, at)
    flat = planes(planner, x, outer * space[0], axes[1:], node, group, (outer, space[0], *results[1:]))
    depth = axes[0]
    inner = results[1] * results[2]
    return along(planner, flat, outer, depth, inner, node, group)


Axis = tuple[int, int, int, int, int]


def _axes(space: Sequence[int], results: Sequence[int], at: object) -> list[Axis]:
    """Extent, results, window, stride and dilation of each axis."""
    assert isinstance(at, dict)
    return list(zip(space, results, at["window"], at["stride"], at["dilation"], strict=True))


def planes(
    planner: Planning,
    x: View,
    outer: int,
    axes: Sequence[Axis],
    node: Node,
    group: Group,
    shape: tuple[int, ...],
) -> View:
    """Windows over the rows and columns of `outer` planes."""
    (height, down, kh, stride_h, dilation_h), (width, across, kw, stride_w, dilation_w) = axes
    knobs = _knobs(node, (kh, kw), stride_w, dilation_w, across)
    sizes = {
        "Z": outer,
        "P": down,
        "Q": across,
        "sZ": height * width,
        "sP": stride_h * width,
        "sR": dilation_h * width,
    }
    result = planner.temporary(shape, node.dtype)
    planner.emit("pool", "pool", knobs, sizes, {"X": x, "Y": result}, nodes=tuple(group.nodes))
    return result


def along(planner: Planning, x: View, outer: int, depth: Axis, inner: int, node: Node, group: Group) -> View:
    """Windows along the depth of [outer, depth, inner]: rows of `inner` columns."""
    extent, results, window, stride, dilation = depth
    knobs = _knobs(node, (window, 1), 1, 1, inner)
    sizes = {"Z": outer, "P": results, "Q": inner, "sZ": extent * inner, "sP": stride * inner, "sR": dilation * inner}
    result = planner.temporary(node.shape, node.dtype)
    planner.emit("pool", "pool", knobs, sizes, {"X": x, "Y": result}, nodes=tuple(group.nodes))
    return result


def _knobs(node: Node, window: tuple[int, int], stride: int, dilation: int, across: int) -> dict[str, KnobValue]:
    high, wide = window
    if high not in HEIGHTS or wide not in WIDTHS or stride not in (1, 2, 3, 4) or dilation not in (1, 2, 3):
        stated = f"windows of {high} x {wide}, stride {stride}, dilation {dilation} along columns have no template"
        nearest = f"rows of {HEIGHTS}, columns of {WIDTHS}, strides 1 to 4 and dilations 1 to 3"
        raise PlanError("ARG-P104", f"{stated}; there are {nearest}", node.name, node.line)
    wide_access = 4 if across % 4 == 0 else 1
    lanes = next((lanes for lanes in (8, 16, 32) if lanes * wide_access >= across), 64)
    return {
        "DTYPE": node.dtype,
        "OP": node.attributes["kind"],
        "KH": high,
        "KW": wide,
        "STRIDE": stride,
        "DILATION": dilation,
        "WIDE": wide_access,
        "LANES": lanes,
    }


def padded(planner: Planning, x: View, padding: Sequence[int], node: Node, fill: float) -> View:
    """A copy of x in the middle of a larger array, whose border holds `fill`."""
    rank = len(padding)
    space = x.shape[-rank:]
    wide = tuple(extent + 2 * p for extent, p in zip(space, padding, strict=True))
    outer = x.shape[:-rank]
    made = planner.filled((*outer, *wide), node.dtype, fill, "padded")
    height, width = (space[-2] if rank > 1 else 1), space[-1]
    row = wide[-1]
    plane = math.prod(wide[-2:]) if rank > 1 else row
    start = padding[-1] + (padding[-2] * row if rank > 1 else 0)
    count = math.prod(outer)
    if rank == 3:
        if count > 1 and padding[0]:
            return _padded_volumes(planner, x, made, padding, node)
        count, start = count * space[0], start + padding[0] * plane
    sizes = {"Z": count, "H": height, "W": width, "sZ": plane, "sH": row}
    inside = View(made.buffer, made.shape, made.strides, start)
    knobs: dict[str, KnobValue] = {"DTYPE": node.dtype, "LANES": 64 if width > 16 else 16}
    planner.emit("pad", "pad", knobs, sizes, {"X": x, "Y": inside}, nodes=(node.name,))
    return made


def _padded_volumes(planner: Planning, x: View, made: View, padding: Sequence[int], node: Node) -> View:
    """Padding in three dimensions: the planes of volumes are no axis of one stride, so planes first, then depths."""
    raise PlanError(
        "ARG-P104", "padding of a batch of volumes: not yet; nearest is no padding along the depth", node.name
    )
