"""Transposed convolutions by phases: results that are `stride` apart are an ordinary convolution with fewer taps.

A launch for every phase (`conv_transpose2d`, `conv_transpose3d`), which writes its own elements of the result; a phase
that no tap meets is zeros (`no_taps`). The weights are copied once, with the channels last. Bias, activation and other
maps after it are the chain of every phase; an operand with all elements is read where the phase writes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

from argus.ir.kernel import KnobValue
from argus.plan.conv_tiles import Convolved, tile_knobs
from argus.plan.convolutions import (
    FILLS,
    channels_last,
    entered,
    named,
    operands,
    spatial,
    window_settings,
    without_depth,
)
from argus.plan.graph import Node
from argus.plan.grouping import Group
from argus.plan.maps import chained
from argus.plan.planning import Planning
from argus.plan.views import View, steps_of


def transposed(planner: Planning, group: Group, node: Node) -> View:
    """A transposed convolution of one, two or three dimensions."""
    weight = planner.graph.nodes[node.inputs[1]]
    g = node.attributes["groups"]
    x, space, results, window = operands(planner, node, weight)
    knobs = window_settings(node, window)
    c, o = weight.shape[0] // g, weight.shape[1]
    k = channels_last(planner, node, (g, c, o, math.prod(window)), (0, 2, 3, 1))
    stride, padding, dilation = (spatial(node.attributes[name], fill) for name, fill in FILLS)
    result = planner.temporary(node.shape, node.dtype)
    steps_of_chain, given, scalars = chained(planner, group, node.dtype)
    nodes = tuple(group.nodes)
    deep, steps = len(node.shape) == 5, steps_of((node.shape[0], g, o, *results))
    for phase in product(*map(range, stride)):
        extents = tuple(-(-(extent - f) // s) for extent, f, s in zip(results, phase, stride, strict=True))
        if min(extents) < 1:
            continue
        meets = [
            [(f + p - d * r) // s for r in range(extent) if (f + p - d * r) % s == 0]
            for extent, f, s, p, d in zip(window, phase, stride, padding, dilation, strict=True)
        ]
        offset = sum(f * step for f, step in zip(phase, steps[3:], strict=True))
        arguments = {name: _moved(view, offset, steps_of_chain[f"HAS_{name}"]) for name, view in given.items()}
        arguments["Y"] = View(result.buffer, result.shape, result.strides, offset)
        sizes = {"N": node.shape[0], "G": g, "O": o, **named(extents, "O")}
        sizes |= {
            "sN": steps[0],
            "sG": steps[1],
            "sO": steps[2],
            "sT": stride[0] * steps[3],
            "sP": stride[1] * steps[4],
        }
        if all(meets):
            high, wide = ((min(taps), max(taps)) for taps in meets[1:])
            tile = tile_knobs(
                node.dtype,
                Convolved(
                    c,
                    o,
                    space[2],
                    (extents[1], extents[2]),
                    (high, wide),
                    taps=math.prod(map(len, meets)),
                    apart=stride[2] > 1,
                    planes=len(meets[0]),
                ),
                planner.choices,
                node.shape[0] * g,
                steps_of_chain,
            )
            phases: dict[str, KnobValue] = {**named(phase, "F")}
            each = {**tile, **knobs, **steps_of_chain, **(phases if deep else without_depth(phases))}
            sizes = {**sizes, "C": c, **entered(space)}
            name = "conv_transpose3d" if deep else "conv_transpose2d"
            sizes = sizes if deep else {n: s for n, s in without_depth(sizes).items() if n != "sT"}
            planner.emit(name, name, each, sizes, {"X": x, "K": k, **arguments}, scalars, nodes)
        else:
            empty: dict[str, KnobValue] = {"DTYPE": node.dtype, "SW": stride[2], **steps_of_chain}
            empty |= {"VEC": 4, "XW": 4, "CW": 4}  # not used; they fit any element type
            empty |= rows_without_taps(extents[1], extents[2])
            planner.emit("no_taps", "no_taps", empty, sizes, arguments, scalars, nodes)
    return result


def rows_without_taps(high: int, wide: int) -> dict[str, KnobValue]:
    """The piece of a phase without taps that a workgroup of 256 threads makes: as much of its rows as there is."""
    rows = 1 if high == 1 else 4
    items = next((items for items in (1, 2, 4) if 256 // rows * items >= wide), 8)
    return {"HIGH": rows, "ITEMS": items}


def _moved(view: View, offset: int, kind: KnobValue) -> View:
    """An operand's part of a phase."""
    return replace(view, offset=view.offset + offset) if kind == "all" else view
