"""Pooling: windows of the input as an overlapping view (`argus.kernels.windows`), padded by a launch of its own.

One and two dimensions are one launch of `pool`; the lines of one dimension are rows of one plane. Three are two
launches: the planes, then along the depth, each padded by itself; averages with padding are one of `pool_volumes`,
which has the padding inside. Windows that are far apart along rows would be loaded by single elements: a launch takes
them along columns first, where neighbours lie together, and another along rows.
A padded array's border is filled once and never written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from argus.ir.kernel import KnobValue
from argus.ops.choice import BYTES
from argus.plan.graph import Node, PlanError
from argus.plan.grouping import Group
from argus.plan.maps import chained
from argus.plan.planning import Planning
from argus.plan.views import View

EXTENTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16)
"""Windows and strides that templates have."""
ACCESS, LEFT = 16, 4
"""Bytes of the widest access, and the least stride along columns for which two launches take less than one."""
VOLUME_WINDOWS, VOLUME_STRIDES, VOLUME_PADDINGS = (1, 2, 3, 4, 5, 7), (1, 2, 3, 4, 5), (0, 1, 2, 3)
"""What `pool_volumes` has, along each axis."""
VOLUME_TAPS = 64
"""Of a window that `pool_volumes` is taken for; with 343 the value of some of its forms was not proved."""
BLOCKS = ((4, 4), (4, 2), (2, 2), (2, 1), (1, 1))
"""Planes and rows of results of a thread of `pool_volumes`; with the most, rows and planes are read again least."""
MOST_EFFORT = 180_000
"""Steps in which `pool_volumes` is read, as `_effort` counts them; a kernel may take 200 000."""
MOST_IN_FLIGHT = 192
"""Elements that a thread of `pool` holds while it loads a row of taps; it has 256 registers."""


def pooled(planner: Planning, group: Group, node: Node) -> View:
    """Maximum or mean of windows over the last one, two or three axes."""
    at = node.attributes
    x = planner.row_major(planner.at(node.inputs[0]), node.dtype, (node.name,))
    rank = len(at["window"])
    fill = -math.inf if at["kind"] == "max" else 0.0
    outer = math.prod(node.shape[:-rank])
    space, results = x.shape[-rank:], node.shape[-rank:]
    if rank < 3:
        plane = ((1,) * (2 - rank) + space, (0,) * (2 - rank) + tuple(at["padding"]))
        x = padded(planner, x, outer, *plane, node, fill)
        axes = [LINE] * (2 - rank) + _axes(space, results, at)
        mostly_padding = 2 * plane[1][1] > space[-1]  # then columns would be
        if not mostly_padding and one_after_the_other(planner, outer, axes, node):
            down, across = axes
            x = along(planner, x, outer, down, across[0], node, None, (outer, down[1], across[0]))
            outer, axes = outer * down[1], [LINE, across]
        return planes(planner, x, outer, axes, node, group, node.shape)
    if all_at_once(planner, outer, space, group, node):
        return volumes(planner, x, outer, node, group)
    depth, *axes = _axes(space, results, at)
    x = padded(planner, x, outer * space[0], space[1:], at["padding"][1:], node, fill)
    x = planes(planner, x, outer * space[0], axes, node, group, (outer, space[0], *results[1:]), last=False)
    inner = results[1] * results[2]
    x = padded(planner, x, outer, (space[0], inner), (at["padding"][0], 0), node, fill)
    return along(planner, x, outer, depth, inner, node, group, node.shape)


Axis = tuple[int, int, int, int, int]
LINE: Axis = (1, 1, 1, 1, 1)


def one_after_the_other(planner: Planning, outer: int, axes: Sequence[Axis], node: Node) -> bool:
    """Whether a launch takes windows along columns, and another one along rows."""
    (height, _, high, stride_h, dilation_h), (width, _, wide, stride_w, dilation_w) = axes
    shape: dict[str, KnobValue] = {"kind": node.attributes["kind"], "dtype": node.dtype, "planes": outer}
    shape |= {"height": height, "high": high, "stride_h": stride_h, "dilation_h": dilation_h}
    shape |= {"width": width, "wide": wide, "stride_w": stride_w, "dilation_w": dilation_w}
    default = {"passes": 2 if far_apart(axes, node) else 1}
    able = [{"passes": 1}, {"passes": 2}] if min(high, wide) > 1 else [default]
    return planner.choices.take("pool-passes", shape, default, lambda: able)["passes"] == 2


def all_at_once(planner: Planning, outer: int, space: Sequence[int], group: Group, node: Node) -> bool:
    """Whether windows of volumes are one launch: by rule averages with padding, which else is written for each."""
    at, results = node.attributes, node.shape[-3:]
    legal = set(at["window"]) <= set(VOLUME_WINDOWS) and set(at["stride"]) <= set(VOLUME_STRIDES)
    able = legal and at["kind"] == "mean" and set(at["padding"]) <= set(VOLUME_PADDINGS) and set(at["dilation"]) == {1}
    if not able or math.prod(at["window"]) > VOLUME_TAPS or block_of(group, node, space[2]) is None:
        return False
    shape: dict[str, KnobValue] = {"kind": "mean", "dtype": node.dtype, "volumes": outer}
    for name, values in (("extent", space), ("result", results), *((name, at[name]) for name in FORM)):
        shape |= {f"{name}_{axis}": value for axis, value in zip("dhw", values, strict=True)}
    default = {"passes": 1 if any(at["padding"]) else 2}
    return planner.choices.take("pool-passes", shape, default, lambda: ({"passes": 1}, {"passes": 2}))["passes"] == 1


FORM = ("window", "stride", "padding")


def block_of(group: Group, node: Node, width: int) -> tuple[int, int] | None:
    """Planes and rows of results of a thread of `pool_volumes`, if there are any that it can be read with."""
    return next((block for block in BLOCKS if _effort(block, group, node, width) <= MOST_EFFORT), None)


def _effort(block: tuple[int, int], group: Group, node: Node, width: int) -> int:
    """Steps in which the kernel is read, a little too many: for every piece of a row its accesses and taps, which cost
    more where they are not neighbors; for every row of results its chain and accesses."""
    at, wide = node.attributes, ACCESS // BYTES[node.dtype]
    (_, _, window), (_, _, stride), (_, _, left) = (at[name] for name in FORM)
    unit = math.gcd(wide, width)
    accesses = -(-(stride * (wide - 1) + window - left + -(-left // unit) * unit) // unit)
    pieces = math.prod(at["stride"][axis] * (results - 1) + at["window"][axis] for axis, results in enumerate(block))
    stored = wide // math.gcd(wide, node.shape[-1]) * (1 + len(group.operands))
    after = 500 * (1 + len(group.steps)) + 60 * stored
    return int(pieces * (220 + 90 * accesses + window * wide * (43 if stride > 1 else 18)) + math.prod(block) * after)


def volumes(planner: Planning, x: View, outer: int, node: Node, group: Group) -> View:
    """Averages over three axes in one launch."""
    at, space, results = node.attributes, x.shape[-3:], node.shape[-3:]
    access = ACCESS // BYTES[node.dtype]
    lanes = next((lanes for lanes in (8, 16, 32) if lanes * access >= results[2]), 64)
    block = block_of(group, node, space[2])
    assert block is not None, "asked before"
    front, deep = block
    knobs: dict[str, KnobValue] = {"DTYPE": node.dtype, "WIDE": access, "LANES": lanes, "DEEP": deep, "FRONT": front}
    knobs |= {"XW": math.gcd(access, space[2]), "YW": math.gcd(access, results[2])}
    for letter, name in zip("KSP", FORM, strict=True):
        knobs |= {letter + axis: value for axis, value in zip("DHW", at[name], strict=True)}
    sizes = {"Z": outer} | {"I" + axis: extent for axis, extent in zip("DHW", space, strict=True)}
    sizes |= {"O" + axis: extent for axis, extent in zip("DHW", results, strict=True)}
    result = planner.temporary(node.shape, node.dtype)
    steps, given, scalars = chained(planner, group, node.dtype)
    arguments = {"X": x, **given, "Y": result}
    planner.emit("pool_volumes", "pool_volumes", {**knobs, **steps}, sizes, arguments, scalars, tuple(group.nodes))
    return result


def far_apart(axes: Sequence[Axis], node: Node) -> bool:
    """Whether neighbouring windows of a row lie in accesses of their own, and few rows are left of the columns' launch:
    then what it writes and the next one reads is little beside the input."""
    (_, _, high, stride_h, _), (_, _, _, stride_w, _) = axes
    return high > 1 and stride_h >= LEFT and stride_w * BYTES[node.dtype] >= ACCESS


def _axes(space: Sequence[int], results: Sequence[int], at: Mapping[str, Any]) -> list[Axis]:
    """Padded extent, results, window, stride and dilation of each axis."""
    wide = [extent + 2 * p for extent, p in zip(space, at["padding"], strict=True)]
    return list(zip(wide, results, at["window"], at["stride"], at["dilation"], strict=True))


def planes(
    planner: Planning,
    x: View,
    outer: int,
    axes: Sequence[Axis],
    node: Node,
    group: Group,
    shape: tuple[int, ...],
    last: bool = True,
) -> View:
    """Windows over the rows and columns of `outer` planes."""
    (height, down, kh, stride_h, dilation_h), (width, across, kw, stride_w, dilation_w) = axes
    if height == down == 1:  # rows of one plane, so that the threads of a workgroup have several of them
        outer, height, down, stride_h = 1, outer, outer, 1
    knobs = {"OP": node.attributes["kind"], **window_knobs(node, (kh, kw), stride_w, dilation_w, across)}
    if kh == 1 and stride_w * BYTES[node.dtype] >= ACCESS:
        held = kw * int(knobs["WIDE"])  # single elements: more of them in flight, as far as registers go
        knobs["DEEP"] = next(deep for deep in (4, 2, 1) if deep * held <= MOST_IN_FLIGHT)
    sizes = {
        "Z": outer,
        "P": down,
        "Q": across,
        "sZ": height * width,
        "sP": stride_h * width,
        "sR": dilation_h * width,
    }
    result = planner.temporary(shape, node.dtype)
    emit_last(planner, knobs, sizes, x, result, node, group if last else None)
    return result


def along(
    planner: Planning, x: View, outer: int, depth: Axis, inner: int, node: Node, group: Group | None,
    shape: tuple[int, ...],
) -> View:  # fmt: skip
    """Windows along the depth of [outer, depth, inner]: rows of `inner` columns. Without a group, more follows."""
    extent, results, window, stride, dilation = depth
    knobs = {"OP": node.attributes["kind"], **window_knobs(node, (window, 1), 1, 1, inner)}
    sizes = {"Z": outer, "P": results, "Q": inner, "sZ": extent * inner, "sP": stride * inner, "sR": dilation * inner}
    result = planner.temporary(shape, node.dtype)
    emit_last(planner, knobs, sizes, x, result, node, group)
    return result


def emit_last(
    planner: Planning, knobs: dict[str, KnobValue], sizes: dict[str, int], x: View, result: View, node: Node,
    group: Group | None,
) -> None:  # fmt: skip
    """A launch of `pool`, with the chain of the group if it is the last of its launches."""
    if group is None:
        planner.emit("pool", "pool", knobs, sizes, {"X": x, "Y": result}, nodes=(node.name,))
        return
    steps, given, scalars = chained(planner, group, node.dtype)
    arguments = {"X": x, **given, "Y": result}
    planner.emit("pool", "pool", {**knobs, **steps}, sizes, arguments, scalars, tuple(group.nodes))


def window_knobs(node: Node, window: tuple[int, int], stride: int, dilation: int, across: int) -> dict[str, KnobValue]:
    """Knobs of `argus.kernels.windows`; refused where there are none."""
    high, wide = window
    if not {high, wide, stride} <= set(EXTENTS) or dilation not in (1, 2, 3):
        stated = f"windows of {high} x {wide}, stride {stride}, dilation {dilation} along columns have no template"
        nearest = f"windows and strides of {EXTENTS} and dilations of 1 to 3"
        raise PlanError("ARG-G104", f"{stated}; there are {nearest}", node.name, node.line)
    wide_access = 4 if across % 4 == 0 else 1
    lanes = next((lanes for lanes in (8, 16, 32) if lanes * wide_access >= across), 64)
    return {
        "DTYPE": node.dtype,
        "KH": high,
        "KW": wide,
        "STRIDE": stride,
        "DILATION": dilation,
        "WIDE": wide_access,
        "LANES": lanes,
    }


def padded(
    planner: Planning, x: View, count: int, space: tuple[int, ...], padding: Sequence[int], node: Node, fill: float
) -> View:
    """A copy of `count` planes in the middle of larger ones, whose border holds `fill`; without padding, x itself."""
    if not any(padding):
        return x
    (height, width), (top, left) = space, padding
    row = width + 2 * left
    plane = (height + 2 * top) * row
    made = planner.filled((count, height + 2 * top, row), node.dtype, fill, "padded")
    sizes = {"Z": count, "H": height, "W": width, "sZ": plane, "sH": row}
    if height == 1 and top == 0:
        sizes |= {"Z": 1, "H": count, "sZ": count * plane}
    inside = View(made.buffer, made.shape, made.strides, top * row + left)
    knobs: dict[str, KnobValue] = {"DTYPE": node.dtype, "LANES": 64 if width > 16 else 16}
    planner.emit("pad", "pad", knobs, sizes, {"X": x, "Y": inside}, nodes=(node.name,))
    return made
