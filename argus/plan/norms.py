"""Normalizations of templates with statistics of their own; the others are taken apart by `argus.plan.decompose`.

layer_norm    rows: `layernorm`, short ones `short_rows`; rows too long for that: `moments`, then `whole`
axis_norm     rows, or a middle axis, divided by a norm of their own: `rownorm`, `axisnorm`
group_norm    of [N, C, ...]: `moments` of every channel, then `group`; instance norm is one channel to a group
batch_norm    of [N, C, ...]: `moments`, then `batch`; with stored statistics: `inference`
              of a matrix: `column_moments`, `column_joined`, then `column_norm` with the chain after it
batch_statistic    mean or variance of channels, of the `moments` that batch_norm has
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from argus.ir.kernel import KnobValue
from argus.ops.choice import BYTES, Choice, choose_rows, choose_walk
from argus.plan.graph import Node
from argus.plan.grouping import Group
from argus.plan.maps import chained
from argus.plan.planning import Planning
from argus.plan.rows import as_type
from argus.plan.views import View

LONGEST_ROW = 1 << 16
LONGEST_NARROW = 1 << 14
"""Elements of a row that is held though they are moved one by one."""
LONGEST_PIECE, SHORTEST_PIECE = 64, 8
"""Rows of a matrix whose columns a workgroup takes the moments of; where only fewer divide them, it takes all."""
MOST_IMAGES = 1024
"""Statistics that the launch which normalizes puts together itself."""
READ_AGAIN = 1 << 27
"""Bytes from the L2s up to which all its workgroups do so: about the time of the launches that do it once."""
LINE = 128


def layer_norm(planner: Planning, group: Group, node: Node) -> View:
    """Over the last axes; without weight and bias these are ones and zeros."""
    x = planner.row_major(planner.at(node.inputs[0]), node.dtype, (node.name,))
    n = math.prod(node.shape[-node.attributes["axes"] :])
    m = node.elements // n
    result = planner.temporary(node.shape, node.dtype)
    scalars = {"eps": node.attributes["eps"]}
    short = n <= LONGEST_ROW
    weight, bias = _affine(planner, node, n, node.dtype if short else "f32")
    if short:
        choice = short_rows(n, node.dtype) or choose_rows("layernorm", n, node.dtype)
        arguments = {"X": x, "W": weight, "B": bias, "Y": result}
        sizes = {"M": m, "N": n}
        planner.emit(choice.file, choice.kernel, choice.knobs, sizes, arguments, scalars, nodes=tuple(group.nodes))
        return result
    channels = max((k for k in range(1, 257) if n % k == 0), default=1)
    length = n // channels
    mean, dev = moments(planner, x, (m * channels, length), node, group)
    arguments = {"X": x, "mean": mean, "dev": dev, "W": weight, "bias": bias, "Y": result}
    sizes = {"B": m, "K": channels, "S": length}
    knobs = _second(node.dtype, length, channels)
    planner.emit("normalize", "whole", knobs, sizes, arguments, scalars, nodes=tuple(group.nodes))
    return result


def short_rows(n: int, dtype: str) -> Choice | None:
    """The kernel for rows that a part of a wave holds; None where they are longer."""
    each = 16 // BYTES[dtype]
    lanes = next((lanes for lanes in (2, 4, 8, 16, 32) if lanes * each >= n), None)
    if lanes is None:
        return None
    knobs: dict[str, KnobValue] = {"DTYPE": dtype, "LANES": lanes, "WIDTH": BYTES[dtype] * math.gcd(each, n)}
    return Choice("short_rows", "short_layernorm", knobs)


def axis_norm(planner: Planning, group: Group, node: Node) -> View:
    """An axis divided by a norm of its own."""
    at, dim = node.attributes, node.attributes["dim"]
    x = planner.row_major(planner.at(node.inputs[0]), node.dtype, (node.name,))
    a, k, c = math.prod(node.shape[:dim]), node.shape[dim], math.prod(node.shape[dim + 1 :])
    result = planner.temporary(node.shape, node.dtype)
    arguments, nodes = {"X": x, "Y": result}, tuple(group.nodes)
    if c == 1:
        choice = choose_rows("layernorm", k, node.dtype)
        if k > LONGEST_NARROW and k % 4:  # addresses of single elements would not fit registers beside the row
            choice = choose_walk("layernorm", "layernorm_long", 1, k, node.dtype)
        knobs = {**choice.knobs, "NORM": at["kind"]}
        kernel = choice.kernel.replace("layernorm", "rownorm")
        planner.emit("rownorm", kernel, knobs, {"M": a, "N": k}, arguments, nodes=nodes)
        return result
    depth = next((depth for depth in (1, 2, 4, 8, 16, 32) if 4 * depth >= k), None)
    width = BYTES[node.dtype] * math.gcd(4, c)
    knobs = {"DTYPE": node.dtype, "NORM": at["kind"], "DEPTH": depth or 8, "WIDTH": width}
    sizes, scalars = {"A": a, "K": k, "C": c}, {"eps": at["eps"]}
    planner.emit("axisnorm", "axisnorm" if depth else "axisnorm_long", knobs, sizes, arguments, scalars, nodes)
    return result


def _affine(planner: Planning, node: Node, elements: int, dtype: str) -> tuple[View, View]:
    """Weight and bias in an element type."""
    if len(node.inputs) < 3:
        return planner.filled((elements,), dtype, 1.0), planner.filled((elements,), dtype, 0.0)
    weight, bias = (planner.typed(name, dtype) for name in node.inputs[1:3])
    return weight, bias


def group_norm(planner: Planning, group: Group, node: Node) -> View:
    """Over the channels of a group and everything after them."""
    x = planner.row_major(planner.at(node.inputs[0]), node.dtype, (node.name,))
    weight, bias = _affine(planner, node, node.shape[1], "f32")
    b, c, s = node.shape[0], node.shape[1], math.prod(node.shape[2:])
    g = node.attributes["groups"]
    mean, dev = moments(planner, x, (b * c, s), node, group)
    result = planner.temporary(node.shape, node.dtype)
    arguments = {"X": x, "mean": mean, "dev": dev, "W": weight, "bias": bias, "Y": result}
    sizes = {"B": b, "G": g, "K": c // g, "S": s}
    scalars = {"eps": node.attributes["eps"]}
    knobs = _second(node.dtype, s, c // g)
    planner.emit("normalize", "group", knobs, sizes, arguments, scalars, nodes=tuple(group.nodes))
    return result


def batch_norm(planner: Planning, group: Group, node: Node) -> View:
    """Over all images and places of a channel, or with stored statistics."""
    if len(node.shape) == 2:
        return column_norm(planner, group, node)
    x = planner.row_major(planner.at(node.inputs[0]), node.dtype, (node.name,))
    weight, bias = _affine(planner, node, node.shape[1], "f32")
    b, c, s = node.shape[0], node.shape[1], math.prod(node.shape[2:])
    result = planner.temporary(node.shape, node.dtype)
    sizes = {"B": b, "C": c, "S": s}
    scalars = {"eps": node.attributes["eps"]}
    if not node.attributes["training"]:
        mean, variance = (planner.typed(name, "f32") for name in node.inputs[3:])
        arguments = {"X": x, "M": mean, "V": variance, "W": weight, "bias": bias, "Y": result}
        planner.emit(
            "normalize", "inference", _second(node.dtype, s), sizes, arguments, scalars, nodes=tuple(group.nodes)
        )
        return result
    mean, dev = planner.kept[node.inputs[0]] = moments(planner, x, (b * c, s), node, group)
    workgroups = b * c * -(-s // (_span(node.dtype) * _chunks(node.dtype, s)))
    again = 2 * b * LINE * workgroups > READ_AGAIN
    if again or b > MOST_IMAGES or node.elements * BYTES[node.dtype] >= planner.limit:
        middle, variance = of_channels(planner, node.inputs[0], (b, c, s), group)
        arguments = {"X": x, "M": middle, "V": variance, "W": weight, "bias": bias, "Y": result}
        planner.emit(
            "normalize", "inference", _second(node.dtype, s), sizes, arguments, scalars, nodes=tuple(group.nodes)
        )
        return result
    arguments = {"X": x, "mean": mean, "dev": dev, "W": weight, "bias": bias, "Y": result}
    planner.emit("normalize", "batch", _second(node.dtype, s, b), sizes, arguments, scalars, nodes=tuple(group.nodes))
    return result


def batch_statistic(planner: Planning, group: Group, node: Node) -> View:
    """Mean or variance of every channel, over images and places."""
    source = planner.graph.nodes[node.inputs[0]]
    b, c, s = source.shape[0], source.shape[1], math.prod(source.shape[2:])
    if len(source.shape) == 2:
        middle, variance = of_columns(planner, source, group)
    else:
        if source.name not in planner.kept:
            x = planner.row_major(planner.at(source.name), source.dtype, (node.name,))
            planner.kept[source.name] = moments(planner, x, (b * c, s), source, group)
        middle, variance = of_channels(planner, source.name, (b, c, s), group)
    found = middle if node.attributes["kind"] == "mean" else variance
    return as_type(planner, View(found.buffer, node.shape, (1,), found.offset), node)


def column_norm(planner: Planning, group: Group, node: Node) -> View:
    """Batch norm of a matrix, with the chain after it."""
    source = planner.graph.nodes[node.inputs[0]]
    x = planner.row_major(planner.at(source.name), node.dtype, (node.name,))
    if node.attributes["training"]:
        mean, variance = of_columns(planner, source, group)
    else:
        mean, variance = (planner.typed(name, "f32") for name in node.inputs[3:])
    weight, bias = (planner.typed(name, node.dtype) for name in node.inputs[1:3])
    knobs, operands, scalars = chained(planner, group, node.dtype)
    result = planner.temporary(node.shape, node.dtype)
    arguments = {"X": x, "M": mean, "D": variance, "weight": weight, "shift": bias, "Y": result, **operands}
    rows, columns = node.shape
    given = {"eps": node.attributes["eps"], **scalars}
    knobs = {"DTYPE": node.dtype, "WIDTH": BYTES[node.dtype] * math.gcd(4, columns), **knobs}
    sizes = {"B": rows, "C": columns}
    planner.emit("column_norm", "column_norm", knobs, sizes, arguments, given, nodes=tuple(group.nodes))
    return result


def of_columns(planner: Planning, source: Node, group: Group) -> tuple[View, View]:
    """Mean and variance of a matrix's columns in f32, once: of pieces of rows, then of all."""
    key = f"{source.name} together"
    if key in planner.kept:
        return planner.kept[key]
    x = planner.row_major(planner.at(source.name), source.dtype, (source.name,))
    rows, columns = source.shape
    length = max(piece for piece in range(1, LONGEST_PIECE + 1) if rows % piece == 0)
    length = rows if length < SHORTEST_PIECE else length
    pieces, nodes = rows // length, tuple(group.nodes)
    knobs: dict[str, KnobValue] = {"DTYPE": source.dtype, "WIDTH": BYTES[source.dtype] * math.gcd(4, columns)}
    means, devs = (planner.temporary((pieces, columns), "f32") for _ in range(2))
    sizes, arguments = {"A": pieces, "K": length, "C": columns}, {"X": x, "mean": means, "dev": devs}
    planner.emit("column_norm", "column_moments", knobs, sizes, arguments, nodes=nodes)
    mean, variance = (planner.temporary((columns,), "f32") for _ in range(2))
    sizes, arguments = {"P": pieces, "C": columns}, {"means": means, "devs": devs, "M": mean, "D": variance}
    planner.emit("column_norm", "column_joined", knobs, sizes, arguments, {"length": float(length)}, nodes)
    planner.kept[key] = mean, variance
    return mean, variance


def of_channels(planner: Planning, name: str, extents: tuple[int, int, int], group: Group) -> tuple[View, View]:
    """Mean and variance of a value's channels, once."""
    key = f"{name} together"
    if key not in planner.kept:
        planner.kept[key] = together(planner, *planner.kept[name], extents, group)
    return planner.kept[key]


def together(
    planner: Planning, mean: View, dev: View, extents: tuple[int, int, int], group: Group
) -> tuple[View, View]:
    """Mean and variance of channels, of what every image has of them: for batches that one launch cannot put together.

    M = mean of the means; V = mean of dev / S plus the mean of the squares of what the means are away from M.
    """
    b, c, s = extents
    nodes = tuple(group.nodes)

    def over_images(x: View) -> View:
        result = planner.temporary((c,), "f32")
        knobs: dict[str, KnobValue] = {"DTYPE": "f32", "OP": "mean", "WIDTH": 4 * math.gcd(4, c)}
        planner.emit("reduce_axis", "reduce_axis", knobs, {"A": 1, "K": b, "C": c}, {"X": x, "Y": result}, nodes=nodes)
        return result

    def mapped(x: View, other: View, rows: int, steps: Mapping[str, KnobValue], scalars: Mapping[str, float]) -> View:
        result = planner.temporary((rows, c), "f32")
        knobs = {"HAS_U": "c", "WIDE": math.gcd(4, c), **steps}
        sizes = {"A": 1, "B": rows, "C": c}
        planner.emit("fused_map", "fused_map", knobs, sizes, {"X": x, "U": other, "Y": result}, scalars, nodes)
        return result

    middle = over_images(mean)
    spread = over_images(mapped(mean, middle, b, {"S0": "sub_U", "S1": "square"}, {}))
    return middle, mapped(over_images(dev), spread, 1, {"S0": "scale", "S1": "add_U"}, {"p0": 1.0 / s})


def moments(planner: Planning, x: View, extents: tuple[int, int], node: Node, group: Group) -> tuple[View, View]:
    """Mean and sum of squared deviations of rows; long ones in pieces that registers hold, so that X is read once."""
    m, n = extents
    pieces = _pieces(n, node.dtype)
    choice = choose_rows("layernorm", n // pieces, node.dtype)
    kernel = choice.kernel.replace("layernorm", "moments")
    nodes = tuple(group.nodes)
    mean, dev = planner.temporary((m * pieces,), "f32"), planner.temporary((m * pieces,), "f32")
    arguments = {"X": x, "mean": mean, "dev": dev}
    planner.emit("moments", kernel, choice.knobs, {"M": m * pieces, "N": n // pieces}, arguments, nodes=nodes)
    if pieces == 1:
        return mean, dev
    whole, spread = planner.temporary((m,), "f32"), planner.temporary((m,), "f32")
    arguments = {"means": mean, "devs": dev, "mean": whole, "dev": spread}
    knobs: dict[str, KnobValue] = {"HELD": _held(pieces)}
    scalars = {"length": float(n // pieces)}
    planner.emit("moments", "joined", knobs, {"M": m, "P": pieces}, arguments, scalars, nodes)
    return whole, spread


def _pieces(n: int, dtype: str) -> int:
    """How many pieces of one length, short enough to be held, a row of n elements is; 1 if it is held, or walked."""
    for pieces in range(1, MOST_IMAGES + 1):
        if n % pieces == 0 and not choose_rows("layernorm", n // pieces, dtype).kernel.endswith("_long"):
            return pieces
    return 1


def _held(together: int) -> int:
    """Statistics that a lane holds, of so many that are put together."""
    return next((h for h in (1, 4, 16) if 64 * h >= together), 16)


def _second(dtype: str, length: int, together: int = 0) -> dict[str, KnobValue]:
    """Knobs of the second launch: accesses that fit, a piece that is no longer than it has to be, and lanes that hold
    so many statistics."""
    size = BYTES[dtype]
    knobs: dict[str, KnobValue] = {"DTYPE": dtype, "WIDTH": size * math.gcd(16 // size, length)}
    return knobs | {"CHUNKS": _chunks(dtype, length)} | ({"HELD": _held(together)} if together else {})


def _chunks(dtype: str, length: int) -> int:
    """16-byte accesses of a thread: enough for the whole length, four at the most."""
    return next((chunks for chunks in (1, 2) if _span(dtype) * chunks >= length), 4)


def _span(dtype: str) -> int:
    """Elements that the threads of a workgroup move with one access of 16 bytes each."""
    return 256 * 16 // BYTES[dtype]
