"""Convolutions: `conv2d` and `conv3d` over channels, `depthwise2d` where every channel has its own filter.

In one dimension there is one row. Groups are an axis: X[N, G, C/G, ...] is a view of torch's X. The templates take the
weights with the channels last, so these are copied first (`reorder`). A convolution with windows of one pixel is a
product and never comes here (`argus.plan.decompose`). Bias, activation and other maps after it are its chain.

Depthwise ones with windows or strides that `depthwise2d` does not have read their input as windows (`depthwise`),
padded by a launch of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from argus.ir.kernel import KnobValue
from argus.plan.conv_tiles import Convolved, tile_knobs
from argus.plan.graph import Node, PlanError
from argus.plan.grouping import Group
from argus.plan.maps import chained
from argus.plan.planning import Planning
from argus.plan.views import View, permuted, reshaped
from argus.plan.windows import EXTENTS, padded, window_knobs

AXES = "DHW"
WINDOWS: Mapping[str, tuple[int, ...]] = {"D": (1, 2, 3, 4, 5, 7), "H": (1, 2, 3, 4, 5, 7, 9, 11)}
STRIDES, DILATIONS, PADDINGS = (1, 2, 3, 4, 5), (1, 2, 3, 4), (0, 1, 2, 3, 4, 6, 8)
MOST_TAPS = 128
"""Products of one formula."""
MOST_ALONE = 64
"""Taps of a depthwise convolution."""


def convolved(planner: Planning, group: Group, node: Node) -> View:
    """A convolution of one, two or three dimensions."""
    at = node.attributes
    weight = planner.graph.nodes[node.inputs[1]]
    channels = planner.graph.nodes[node.inputs[0]].shape[1]
    alone = at["groups"] == channels == weight.shape[0] and len(node.shape) < 5
    if alone and math.prod(weight.shape[2:]) <= MOST_ALONE and is_legal(node, spatial(weight.shape[2:], 1)):
        return of_images(planner, group, node)
    if alone and {*weight.shape[2:], at["stride"][-1]} <= set(EXTENTS):
        return depthwise(planner, group, node)
    return over_channels(planner, group, node)


def over_channels(planner: Planning, group: Group, node: Node) -> View:
    """A sum over channels and taps, by matrix instructions."""
    at = node.attributes
    weight = planner.graph.nodes[node.inputs[1]]
    g = at["groups"]
    x, space, results, window = operands(planner, node, weight)
    knobs = window_settings(node, window)
    c, o = weight.shape[1], weight.shape[0] // g
    k = channels_last(planner, node, (g, o, c, math.prod(window)), (0, 1, 3, 2))
    (stride, padding, dilation) = (spatial(at[name], fill) for name, fill in FILLS)
    reach = [(-p, d * (extent - 1) - p) for extent, p, d in zip(window, padding, dilation, strict=True)]
    taps, deep = math.prod(window), window[0] > 1
    sizes = Convolved(
        c, o, space[-1], results[-2:], (reach[-2], reach[-1]), stride[-2:], taps, deep=deep and len(window) == 3
    )
    result = planner.temporary(node.shape, node.dtype)
    extents = {"N": node.shape[0], "G": g, "C": c, "O": o, **entered(space), **named(results, "O")}
    steps, given, scalars = chained(planner, group, node.dtype)
    deep = len(node.shape) == 5
    planner.emit(
        "conv3d" if deep else "conv2d",
        "conv3d" if deep else "conv2d",
        {**tile_knobs(node.dtype, sizes), **knobs, **steps},
        extents if deep else without_depth(extents),
        {"X": x, "K": k, **given, "Y": result},
        scalars,
        tuple(group.nodes),
    )
    return result


FILLS = (("stride", 1), ("padding", 0), ("dilation", 1))


def spatial(values: Sequence[int], fill: int) -> tuple[int, int, int]:
    """A number for each of depth, height and width; `fill` for those that are not there."""
    made = (fill,) * (3 - len(values)) + tuple(values)
    return made[0], made[1], made[2]


def named(extents: Sequence[int], prefix: str = "") -> dict[str, int]:
    """Sizes or knobs by axis."""
    return {prefix + axis: extent for axis, extent in zip(AXES, extents, strict=True)}


def entered(space: Sequence[int]) -> dict[str, int]:
    """Extents of the input as the kernels name them."""
    return dict(zip(("ID", "IH", "IW"), space, strict=True))


def without_depth(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the kernels of two dimensions have of sizes or knobs."""
    return {name: value for name, value in settings.items() if name not in ("ID", "OD", "KD", "SD", "DD", "PD", "FD")}


Space = tuple[int, int, int]


def operands(planner: Planning, node: Node, weight: Node) -> tuple[View, Space, Space, Space]:
    """The input in row-major order; its extents, those of the result and of the window."""
    x = planner.row_major(planner.at(node.inputs[0]), node.dtype, (node.name,))
    return x, spatial(x.shape[2:], 1), spatial(node.shape[2:], 1), spatial(weight.shape[2:], 1)


def channels_last(planner: Planning, node: Node, split: tuple[int, ...], order: tuple[int, ...]) -> View:
    """The weights, seen with the axes `split`, in another order; in the type of the convolution."""
    weight = planner.graph.nodes[node.inputs[1]]
    seen = reshaped(planner.typed(weight.name, node.dtype), split)
    assert seen is not None
    return planner.row_major(permuted(seen, order), node.dtype, (node.name,))


def is_legal(node: Node, window: Space) -> bool:
    """Whether the templates have knobs for window, stride, padding and dilation."""
    stride, padding, dilation = (spatial(node.attributes[name], fill) for name, fill in FILLS)
    extents = all(extent in WINDOWS["D" if axis == "D" else "H"] for axis, extent in zip(AXES, window, strict=True))
    return extents and set(stride) <= set(STRIDES) and set(dilation) <= set(DILATIONS) and set(padding) <= set(PADDINGS)


def window_settings(node: Node, window: Space) -> dict[str, KnobValue]:
    """Knobs of the window; refused where there are none."""
    at = node.attributes
    stride, padding, dilation = (spatial(at[name], fill) for name, fill in FILLS)
    if not is_legal(node, window) or math.prod(window) > MOST_TAPS:
        shown = " x ".join(map(str, window[3 - len(at["stride"]) :]))
        form = f"stride {list(at['stride'])}, padding {list(at['padding'])}, dilation {list(at['dilation'])}"
        nearest = f"windows of {WINDOWS['H']}, at most {MOST_TAPS} taps, strides {STRIDES}, dilations {DILATIONS}"
        stated = f"a convolution of {shown} with {form} has no template; there are {nearest} and paddings {PADDINGS}"
        raise PlanError("ARG-G104", stated, node.name, node.line)
    knobs: dict[str, KnobValue] = {**named(window, "K"), **named(stride, "S"), **named(dilation, "D")}
    knobs |= named(padding, "P")
    return knobs if len(node.shape) == 5 else without_depth(knobs)


def of_images(planner: Planning, group: Group, node: Node) -> View:
    """Every channel with its own filter, zeros outside of the image; in one or two dimensions."""
    weight = planner.graph.nodes[node.inputs[1]]
    x, space, results, window = operands(planner, node, weight)
    knobs: dict[str, KnobValue] = {
        "DTYPE": node.dtype,
        **window_settings(node, window),
        "XW": math.gcd(4, space[-1]),
        "YW": math.gcd(4, results[-1]),
        "LANES": next((lanes for lanes in (8, 16, 32) if 4 * lanes >= results[-1]), 64),
        "DEEP": 1 if results[-2] == 1 else 4,
    }
    sizes = {"B": node.shape[0], "C": node.shape[1], **entered(space), **named(results, "O")}
    result = planner.temporary(node.shape, node.dtype)
    steps, given, scalars = chained(planner, group, node.dtype, {"go": "c", "ngo": "bc"})
    arguments = {"X": x, "F": planner.typed(weight.name, "f32"), **given, "Y": result}
    nodes = tuple(group.nodes)
    planner.emit("depthwise2d", "depthwise2d", {**knobs, **steps}, without_depth(sizes), arguments, scalars, nodes)
    return result


def depthwise(planner: Planning, group: Group, node: Node) -> View:
    """Every channel with its own filter, in one or two dimensions."""
    at = node.attributes
    weight = planner.graph.nodes[node.inputs[1]]
    rank = len(node.shape) - 2
    x = planner.row_major(planner.at(node.inputs[0]), node.dtype, (node.name,))
    batch, channels = x.shape[:2]
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
    steps, given, scalars = chained(planner, group, node.dtype, {"go": "c", "ngo": "bc"})
    arguments = {"X": x, "F": planner.typed(weight.name, "f32"), **given, "Y": result}
    planner.emit("depthwise", "depthwise", {**knobs, **steps}, sizes, arguments, scalars, tuple(group.nodes))
    return result
