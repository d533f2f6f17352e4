"""AITER's fused MoE layers in fp8 with block scales: the objects its tuned tables name, at the tables' own layers.

The tables (aiter/configs/model_configs) name the object and its device time, taken with rotated tensors. One launch
does the layer: gate and up, activation, down, and the sum into the result. Routing is uniform here, random there.
Two-stage entries run Composable Kernel programs, whose objects are not shipped, and are left out; so are the `a16`
objects, whose arguments differ.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from argus.bench.moe_aiter import FUSED, fused
from argus.bench.triton_moe import Layer
from argus.clock.sampled import Work
from argus.ops.moe_reference import routing
from bench.clock.rows import Folders, LeftOut, Measured, Task, given, number

NAMES = {
    "vs_silu_64x256": "vs_64x256",
    "vs_ps_silu_64x256": "vs_psx_64x256",
    "vs_silu_1tg_32x128": "vs_32x128",
    "vs_silu_1tg_32x256": "vs_32x256",
    "vs_silu_1tg_ps_32x12": "vs_ps_32x128",
    "vs_silu_1tg_ps_32x25": "vs_ps_32x256",
}
"""A kernel's symbol, without what all have in common and as far as the facts hold it, and the object."""
FIT = ("vs_64x256", "vs_ps_32x256")
SYMBOL = re.compile(r"fmoe_bf16_blockscaleFp8_g1u1_(\w+?)E?(?:;|$| )")


def moved(layer: Layer) -> float:
    """Bytes of the weights of all experts that get a token, and of the tokens."""
    ids = routing("uniform", layer.tokens, layer.experts, layer.topk)
    return 3.0 * len(np.unique(ids)) * layer.dim * layer.inter + 3.0 * layer.tokens * layer.dim


def works(root: Path, layer: Layer, name: str) -> list[Work]:
    return [replace(fused(root, layer, name), bytes=moved(layer))]


def rows(folders: Folders) -> Iterator[Task | LeftOut]:
    root = given(folders.aiter)
    two_stage = other = 0
    with (given(folders.facts) / "calibration.csv").open(newline="", encoding="utf-8") as file:
        facts = [row for row in csv.DictReader(file) if row["kernel"].startswith("fused MoE")]
    for row in facts:
        symbol = SYMBOL.search(row["notes"].replace("_ZN5aiter", " "))
        name = NAMES.get(symbol[1]) if symbol is not None else None
        if "2-stage" in row["kernel"]:
            two_stage += 1
            continue
        if name is None or name not in FUSED:
            other += 1
            continue
        tokens, dim, inter, experts, topk = (
            number(p, row["shape"]) for p in (r"T(\d+)", r"D(\d+)", r"I(\d+)", r"E(\d+)", r"topk(\d+)")
        )
        layer = Layer(tokens, dim, inter, experts, topk)
        found = Measured(
            role="fit" if name in FIT else "validate",
            regime="fp8/MoE",
            family="MoE fp8, AITER assembly",
            program=f"fmoe {name}",
            shape=row["shape"],
            flops=6.0 * tokens * topk * dim * inter,
            bytes=moved(layer),
            element="fp8",
            microseconds=float(row["value"]),
            source=row["source"],
            protocol="cold",
            exact=True,
            warm=False,
            timing="AITER's tuner: device time from the profiler, tensors rotated",
            notes=("routing drawn anew: uniform",),
        )
        yield Task(found, partial(works, root, layer, name))
    yield LeftOut("fused MoE, two stages", two_stage, "Composable Kernel programs, whose objects are not shipped")
    yield LeftOut("fused MoE, one stage", other, "an object with other arguments, or none named")
