"""AITER's fused MoE layer in fp8 with block scales, like for like: the object and the launches its host code adds.

    layer = contestant(Path("aiter/hsa/gfx942"), 1024, PUBLISHED_OBJECT)      a contestant of three launches
    times(root, 1024, Kept())["vs_64x256"].us                                 their times added

What the object takes as given its host code (aiter/fused_moe.py, `fused_moe_1stage`) makes from what `ops.moe` takes:

    cleared     the result is zero before workgroups add to it (AITER's sorting kernel does it on the way)
    scales      those of x stand [dim / 128, tokens]: transposed from [tokens, dim / 128]
    the object  gate and up, SiLU, quantisation, down, the weighted sum by atomics

The first two are timed with kernels of this library. Objects that are not here: `a16` take x in bf16 and quantise it
inside; two-stage layers run Composable Kernel programs, which are not shipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from argus.bench import aiter_objects
from argus.bench.aiter_objects import AiterError
from argus.bench.contestant import Contestant, Part, executed, from_choice
from argus.bench.foreign.case import SLOT, packed
from argus.bench.kept import Kept, Timed, mark
from argus.bench.triton_moe import Layer
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from argus.gfx942 import chip
from argus.ops.choice import Choice, choose_transpose
from argus.ops.launch import prepared
from argus.ops.moe_reference import routing

FP8, BF16 = ml_dtypes.float8_e4m3fnuz, ml_dtypes.bfloat16
RACE = "race"
"""Waves exchange maxima of blocks without a barrier (docs/foreign.md): right where waves take turns, wrong where one
runs from barrier to barrier."""


@dataclass(frozen=True, slots=True)
class Fused:
    """Rows of a block, columns of a slice of inter, and what the machine finds wrong with the object."""

    rows: int
    width: int
    flaw: str = ""


FUSED: Mapping[str, Fused] = {
    "novs_32x128": Fused(32, 128), "novs_32x256": Fused(32, 256, RACE),
    "vs_32x128": Fused(32, 128), "vs_32x256": Fused(32, 256, RACE), "vs_64x256": Fused(64, 256, RACE),
    "vs_ps_32x128": Fused(32, 128), "novs_ps_32x128": Fused(32, 128), "novs_ps_32x256": Fused(32, 256, RACE),
    "vs_ps_32x256": Fused(32, 256, RACE), "vs_psx_64x256": Fused(64, 256, RACE),
}  # fmt: skip
"""`ps`: persistent, a workgroup per compute unit."""
PUBLISHED_OBJECT = "vs_ps_32x256"
"""The object whose times were published for this layer."""
FEW = ("vs_32x128", "vs_32x256")
MORE = ("vs_32x256", "vs_64x256")
MANY = ("vs_64x256",)
WALKED = 4096
"""Tokens up to which persistent objects are timed: what is executed of one are whole walks over the blocks, a minute of
CPU at 1024 tokens and more in proportion."""


def objects(tokens: int) -> tuple[str, ...]:
    """Those that are timed. At 16 tokens `novs` took the time of `vs`, at 1024 `vs_psx_64x256` more than `vs_64x256`.
    An expert has 16 rows or fewer where blocks of 64 are not tried, and 128 or more where blocks of 32 are not."""
    chosen = FEW if tokens <= 128 else MORE if tokens <= 512 else MANY
    return (*chosen, PUBLISHED_OBJECT) if tokens <= WALKED else chosen


def fused(root: Path, layer: Layer, name: str) -> Work:
    """The launch of one of the objects; its arguments are those of foreign/moe_fp8.py."""
    tokens, dim, inter, experts, topk = layer.tokens, layer.dim, layer.inter, layer.experts, layer.topk
    rows, width = FUSED[name].rows, FUSED[name].width
    ids = routing("uniform", tokens, experts, topk)
    numbers: list[int] = []
    of_block: list[int] = []
    for expert in range(experts):
        token, slot = np.nonzero(ids == expert)
        padding = -len(token) % rows
        numbers += (slot << 24 | token).tolist() + [topk << 24 | tokens] * padding
        of_block += [expert] * ((len(token) + padding) // rows)
    kb, ib, slices = dim // 128, inter // 128, inter // width
    walking = chip.CUS // slices * slices if "_ps" in name else 0
    scales = [((kb, tokens), 4), ((experts, 2 * ib, kb), 5), ((experts, kb, ib), 6)]
    args = packed(
        Operand((tokens, dim), BF16, blank=True), Operand((tokens, dim), FP8, 1),
        Operand((experts, 2 * inter, dim), FP8, 2), np.array([len(numbers), tokens], np.int32),
        Operand((experts, dim, inter), FP8, 3), *(Operand(shape, np.float32, seed) for shape, seed in scales), None,
        np.array(numbers, np.uint32), np.ones(len(numbers), np.float32), np.array(of_block, np.int32),
        dim, inter, tokens, experts, dim, dim, inter, 2 * dim, 2 * inter * dim, dim * inter,
        8 * ib * kb, 4 * kb * ib, 4 * inter, topk, walking, slices,
    )  # fmt: skip
    loaded = aiter_objects.kernel(root, object_path(name))
    offsets = [SLOT * n for n in range(len(args))]
    grid = (walking, 1, 1) if walking else (slices, len(of_block), 1)
    return Work(name, loaded, grid, (256,), args, offsets=offsets)


def object_path(name: str) -> str:
    kind, rest = name.split("_", 1)
    return f"fmoe/silu/fmoe_bf16_blockscaleFp8_g1u1_{kind}_silu_1tg_{rest}.co"


def around(layer: Layer) -> dict[str, tuple[Choice, dict[str, int]]]:
    """The launches around the object: kernels and their sizes."""
    blocks = layer.dim // 128
    return {
        "cleared": (Choice("moe", "cleared", {}), {"B": layer.tokens * blocks}),
        "scales": (choose_transpose(layer.tokens, blocks, "f32"), {"M": layer.tokens, "N": blocks}),
    }


def contestant(root: Path, layer: Layer, name: str) -> Contestant:
    """One of the objects and the launches around it."""
    return Contestant(f"AITER {name}", name, (*_around(layer), executed(fused(root, layer, name))))


@dataclass(frozen=True, slots=True)
class LayerTime:
    """All launches of a layer, and the object alone."""

    layer: Timed
    alone: Timed

    def to_json(self) -> dict[str, Any]:
        return {"layer": self.layer.to_json(), "alone": self.alone.to_json()}


def times(root: Path, layer: Layer, kept: Kept) -> dict[str, LayerTime]:
    """Of every object that is timed."""
    found: dict[str, LayerTime] = {}
    more = [_kept(what, choice, sizes, layer, kept) for what, (choice, sizes) in around(layer).items()]
    for name in objects(layer.tokens):
        words = f"aiter {name} {aiter_objects.named(root, object_path(name))} at {layer.tokens} tokens"
        alone = kept.time(words, partial(_alone, root, layer, name), AiterError)
        found[name] = LayerTime(alone if alone.why else Timed.sum([alone, *more]), alone)
    return found


def _alone(root: Path, layer: Layer, name: str) -> Contestant:
    return Contestant(f"AITER {name}", name, (executed(fused(root, layer, name)),))


def _around(layer: Layer) -> list[Part]:
    return [from_choice(what, choice, sizes).parts[0] for what, (choice, sizes) in around(layer).items()]


def _kept(what: str, choice: Choice, sizes: Mapping[str, int], layer: Layer, kept: Kept) -> Timed:
    words = f"moe {what} {sorted(sizes.items())} {mark(prepared(choice).code)}"
    return kept.time(words, partial(from_choice, what, choice, sizes), OSError)
