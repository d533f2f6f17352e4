"""Convolutions: `conv2d` and `conv3d` over channels, `depthwise2d` where every channel has its own filter.

In one dimension there is one row. Groups are an axis: X[N, G, C/G, ...] is a view of torch's X. The templates take the
weights with the channels last, so these are copied first (`reorder`). A convolution with windows of one pixel is a
product and never comes here (`argus.plan.decompose`). Bias, activation and other maps after it are its chain.

Depthwise ones with windows or strides that `depthwise2d` does not have read their input as windows (`depthwise`),
padded by a launch of its own.

With few channels and large windows, a matrix instruction over channels has little to do: windows are then copied to
rows of a matrix (`window_rows`), and the convolution is a product with these (2-byte types, two dimensions). In three
dimensions the planes and rows of a window become channels (`window_channels`), and a window of one line is left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from argus.ir.kernel import KnobValue
from argus.ops.choice import BYTES
from argus.plan.conv_tiles import Convolved, tile_knobs
from argus.plan.graph import Node, PlanError, Shape
from argus.plan.grouping import Group, operand_kind
from argus.plan.maps import chained
from argus.plan.planning import Planning
from argus.plan.product_tiles import rounded
from argus.plan.products import Factors, narrow_product
from argus.plan.views import View, permuted, reshaped
from argus.plan.windows import EXTENTS, padded, window_knobs

AXES = "DHW"
WINDOWS: Mapping[str, tuple[int, ...]] = {"D": (1, 2, 3, 4, 5, 7), "H": (1, 2, 3, 4, 5, 7, 9, 11)}
STRIDES, DILATIONS, PADDINGS = (1, 2, 3, 4, 5), (1, 2, 3, 4), (0, 1, 2, 3, 4, 6, 8)
MOST_TAPS = 128
"""Products of one formula."""
MOST_ALONE = 64
"""Taps of a depthwise convolution."""
FEW_CHANNELS, MANY_TAPS = 4, 49
"""Channels up to which, and taps from which, windows are copied to rows, or their planes and rows to channels."""
CHANNELS_AT_ONCE = 8
"""What channels that are made of planes and rows are a multiple of: an access to the weights."""
OF_PRODUCT = {"one": "one", "go": "m", "all": "zmn"}
"""What a product calls the axes of an operand of a convolution's chain."""


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
    if by_rows(planner, group, node, weight.shape):
        return of_window_rows(planner, group, node, weight.shape)
    if by_channels(planner, node, weight.shape):
        return of_window_channels(planner, group, node, weight)
    return over_channels(planner, group, node)


def by_rows(planner: Planning, group: Group, node: Node, weight: Shape) -> bool:
    """Whether windows are copied to rows: by rule with few channels and many taps, as far as `window_rows` has them."""
    at = node.attributes
    if len(node.shape) != 4 or node.dtype == "f32" or at["groups"] > 1 or set(at["dilation"]) != {1}:
        return False
    few = math.prod(weight[2:]) >= MANY_TAPS
    there = weight[1] <= FEW_CHANNELS and set(weight[2:]) <= {5, 7, 9, 11} and at["stride"][1] in STRIDES
    rows = node.shape[0] * math.prod(node.shape[2:]) * rounded(math.prod(weight[1:])) * BYTES[node.dtype]
    kinds = {operand_kind(group, operand) for operand in group.operands}
    if not there or rows >= planner.limit or not kinds <= set(OF_PRODUCT):
        return False
    shape: dict[str, KnobValue] = {"images": node.shape[0], "channels": weight[1], "features": weight[0]}
    shape |= {"high": weight[2], "wide": weight[3], "down": node.shape[2], "across": node.shape[3]}
    shape |= {"stride_h": at["stride"][0], "stride_w": at["stride"][1], "dtype": node.dtype}
    able = ({"rows": True}, {"rows": False})
    return bool(planner.choices.take("window-rows", shape, {"rows": few}, lambda: able)["rows"])


def of_window_rows(planner: Planning, group: Group, node: Node, weight: Shape) -> View:
    """Windows copied to rows, then one product for every image: of the weights with these rows."""
    at, nodes = node.attributes, tuple(group.nodes)
    (images, features, down, across), (_, channels, high, wide) = node.shape, weight
    x = planner.row_major(planner.at(node.inputs[0]), node.dtype, (node.name,))
    height, width = (extent + 2 * p for extent, p in zip(x.shape[2:], at["padding"], strict=True))
    x = padded(planner, x, images * channels, x.shape[2:], at["padding"], node, 0.0)
    taps = channels * high * wide
    row = rounded(taps)
    rows = planner.filled((images, down * across, row), node.dtype, 0.0, "padded")
    filters = planner.filled((features, row), node.dtype, 0.0, "padded")
    knobs: dict[str, KnobValue] = {"DTYPE": node.dtype, "CHANNELS": channels, "KH": high, "KW": wide}
    knobs["STRIDE"] = at["stride"][1]
    sizes = {"N": images, "P": down, "Q": across, "sN": channels * height * width, "sP": at["stride"][0] * width}
    sizes |= {"sC": height * width, "sR": width, "yN": down * across * row, "yP": across * row, "yQ": row}
    planner.emit("window_rows", "window_rows", knobs, sizes, {"X": x, "Y": rows}, nodes=nodes)
    given = planner.typed(node.inputs[1], node.dtype)
    extents = {"Z": 1, "H": features, "W": taps, "sZ": features * row, "sH": row}
    planner.emit("pad", "pad", {"DTYPE": node.dtype}, extents, {"X": given, "Y": filters}, nodes=nodes)
    steps, operands, scalars = chained(planner, group, node.dtype, OF_PRODUCT)
    if images == 1:
        steps = {name: "mn" if kind == "zmn" else kind for name, kind in steps.items()}
    result = planner.temporary(node.shape, node.dtype)
    found = Factors(filters, rows, False, False, images, features, down * across, row, images > 1, longer=True)
    arguments = {"A": filters, "B": rows, **operands, "C": result}
    narrow_product(planner, found, steps, arguments, scalars, node.dtype, nodes)
    return result


def by_channels(planner: Planning, node: Node, weight: Shape) -> bool:
    """Whether planes and rows of a window become channels: by rule with few channels and many taps."""
    at = node.attributes
    if len(node.shape) != 5 or node.dtype == "f32" or at["groups"] > 1 or math.prod(weight[2:4]) == 1:
        return False
    images, width = node.shape[0], planner.graph.nodes[node.inputs[0]].shape[-1]
    image = _channels(weight) * math.prod(node.shape[2:4]) * width * BYTES[node.dtype]
    there = weight[1] <= FEW_CHANNELS and is_legal(node, (weight[2], weight[3], weight[4]))
    if not there or image >= planner.limit:
        return False
    shape: dict[str, KnobValue] = {"images": images, "channels": weight[1], "features": weight[0], "dtype": node.dtype}
    shape |= {"deep": weight[2], "high": weight[3], "wide": weight[4]}
    shape |= {"planes": node.shape[2], "down": node.shape[3], "across": node.shape[4]}
    shape |= {"stride_d": at["stride"][0], "stride_h": at["stride"][1], "stride_w": at["stride"][2]}
    able = ({"channels": True}, {"channels": False})
    many = math.prod(weight[2:]) >= MANY_TAPS
    return bool(planner.choices.take("window-channels", shape, {"channels": many}, lambda: able)["channels"])


def _channels(weight: Shape) -> int:
    """Planes and rows of the windows of all channels, rounded up."""
    return -(-math.prod(weight[1:4]) // CHANNELS_AT_ONCE) * CHANNELS_AT_ONCE


def of_window_channels(planner: Planning, group: Group, node: Node, weight: Node) -> View:
    """Planes and rows of the windows copied to channels, then a convolution over these with a window of one line."""
    at, nodes = node.attributes, tuple(group.nodes)
    (features, channels, deep, high, wide), c = weight.shape, _channels(weight.shape)
    x, (depth, height, width), (planes, down, _), _ = operands(planner, node, weight)
    each = planes * down * width
    moved = planner.filled((node.shape[0], c, planes, down, width), node.dtype, 0.0, "padded")
    piece = math.gcd(16 // BYTES[node.dtype], width)
    lanes = next((lanes for lanes in (8, 16, 32) if lanes * piece >= width), 64)
    knobs: dict[str, KnobValue] = {"DTYPE": node.dtype, "KD": deep, "KH": high, "WIDE": piece, "LANES": lanes}
    for letter, name in (("S", "stride"), ("D", "dilation"), ("P", "padding")):
        knobs |= {letter + "D": at[name][0], letter + "H": at[name][1]}
    sizes = {"N": node.shape[0], "C": channels, **entered((depth, height, width)), "OD": planes, "OH": down}
    sizes |= {"yN": c * each, "yC": deep * high * each, "yD": high * each, "yR": each, "yT": down * width}
    planner.emit("window_channels", "window_channels", knobs, sizes, {"X": x, "Y": moved}, nodes=nodes)
    taps = math.prod(weight.shape[1:4])
    filters = channels_last(planner, node, (1, features, taps, wide), (0, 1, 3, 2))
    if c > taps:
        longer = planner.filled((features, wide, c), node.dtype, 0.0, "padded")
        extents = {"Z": 1, "H": features * wide, "W": taps, "sZ": features * wide * c, "sH": c}
        planner.emit("pad", "pad", {"DTYPE": node.dtype}, extents, {"X": filters, "Y": longer}, nodes=nodes)
        filters = longer
    line = {name: (fill, fill, at[name][2]) for name, fill in FILLS}
    left = replace(node, attributes={**at, **line})
    return summed(planner, group, left, moved, filters, (c, features), (planes, down, width), (1, 1, wide), True)


def over_channels(planner: Planning, group: Group, node: Node) -> View:
    """A sum over channels and taps, by matrix instructions."""
    weight = planner.graph.nodes[node.inputs[1]]
    g = node.attributes["groups"]
    x, space, _, window = operands(planner, node, weight)
    window_settings(node, window)  # refused before anything is copied
    c, o = weight.shape[1], weight.shape[0] // g
    k = channels_last(planner, node, (g, o, c, math.prod(window)), (0, 1, 3, 2))
    return summed(planner, group, node, x, k, (c, o), space, window)


def summed(
    planner: Planning, group: Group, node: Node, x: View, k: View, channels: tuple[int, int], space: Space,
    window: Space, even: bool = False,
) -> View:  # fmt: skip
    """The launch of a convolution. `channels`: of a group, those that are summed over and those of the result;
    `space`, `window`: extents of x and of the filter; stride, padding and dilation are those of the node; `even`: as
    for `tile_knobs`."""
    at, g, (c, o) = node.attributes, node.attributes["groups"], channels
    results = spatial(node.shape[2:], 1)
    knobs = window_settings(node, window)
    (stride, padding, dilation) = (spatial(at[name], fill) for name, fill in FILLS)
    reach = [(-p, d * (extent - 1) - p) for extent, p, d in zip(window, padding, dilation, strict=True)]
    taps = math.prod(window)
    sizes = Convolved(c, o, space[-1], results[-2:], (reach[-2], reach[-1]), stride[-2:], taps, planes=window[0])
    result = planner.temporary(node.shape, node.dtype)
    extents = {"N": node.shape[0], "G": g, "C": c, "O": o, **entered(space), **named(results, "O")}
    steps, given, scalars = chained(planner, group, node.dtype)
    deep = len(node.shape) == 5
    planner.emit(
        "conv3d" if deep else "conv2d",
        "conv3d" if deep else "conv2d",
        {**tile_knobs(node.dtype, sizes, planner.choices, node.shape[0] * g, steps, even), **knobs, **steps},
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
