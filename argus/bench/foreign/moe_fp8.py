"""AITER's fused mixture of experts in fp8 (E4M3 FNUZ): both GEMMs, activation and weighted sum in one kernel.

    h = W1[e] x          gate and up rows, [2 * inter]
    a = act(gate) * up   requantised to fp8 inside the kernel, one scale per token and block of inter
    out[token] += weight * (W2[e] a)                    in bf16, by atomics, once per expert and slice of inter

Arguments, 16 bytes each (csrc/py_itfs_cu/asm_fmoe.cu, struct KernelArgs):

    O (bf16), X, W1, counts (padded rows, tokens), W2, scales of X, W1, W2, smooth scales (null), sorted token ids
    (slot << 24 | token), sorted weights, expert of each block of 32 rows, dim, inter, tokens, experts, strides in
    bytes: X, W1 row, W2 row, O; per expert: W1, W2, scales of W1, of W2, smooth; topk, workgroups, slices

Rows are sorted by expert and padded to blocks of 32 with token number = tokens. Grid (inter / slice, blocks, 1), 256
threads; persistent objects (`ps`): a number of workgroups, a multiple of the slices, that walk over the blocks, and is
an argument (0 for the others); `psx` hands them out by chiplet, so there it is a multiple of 8. W1 and W2 are shuffled
(`shuffle.py`). Two kinds of scale: *per token* (one per row of X, W1, W2) and *block* (one per 1x128 of X, stored
transposed, and one per 128x128 of W1 and W2).

The reference follows the kernel through the requantisation. Near a rounding boundary of fp8 the kernel's f32 value
may fall on the other side; such elements are found (within ACTIVATION_ERROR) and the bound allows exactly their step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from argus.bench.foreign.case import (
    BF16,
    BF16_NEAREST,
    BF16_TRUNCATED,
    FP8,
    FP8_MAX,
    Builder,
    CaseJudgement,
    ForeignCase,
    Wide,
    judge,
    packed,
    summation_error,
)
from argus.bench.foreign.shuffle import shuffled

ROWS = 32
BLOCK = 128
ACTIVATION_ERROR = 2.0**-14


def _gelu(x: Wide) -> Wide:
    """The tanh form: with the erf form the kernels are three times outside their bounds."""
    y: Wide = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return y


def _silu(x: Wide) -> Wide:
    y: Wide = x / (1 + np.exp(-x))
    return y


ACTIVATIONS: dict[str, Callable[[Wide], Wide]] = {"gelu": _gelu, "silu": _silu}


class Sizes(NamedTuple):
    """The shape of a layer and of its input."""

    tokens: int
    experts: int
    topk: int
    dim: int
    inter: int


@dataclass(frozen=True, slots=True)
class Quantised:
    """fp8 values, their scales as the kernel takes them, and what they mean together."""

    values: NDArray[Any]
    scales: NDArray[np.float32]
    meaning: Wide


def _fp8(x: NDArray[Any]) -> NDArray[Any]:
    values: NDArray[Any] = np.clip(x, -FP8_MAX, FP8_MAX).astype(np.float32).astype(FP8)
    return values


def by_row(x: NDArray[Any]) -> Quantised:
    """One scale per row."""
    scales = (np.abs(x).max(-1, keepdims=True) / FP8_MAX).astype(np.float32)
    values = _fp8(x / scales)
    return Quantised(values, scales, values.astype(np.float64) * scales)


def by_block(x: NDArray[Any], rows: int) -> Quantised:
    """One scale per block of `rows` x 128."""
    *outer, n, k = x.shape
    blocks = x.reshape(*outer, n // rows, rows, k // BLOCK, BLOCK)
    scales = (np.abs(blocks).max((-3, -1), keepdims=True) / FP8_MAX).astype(np.float32)
    values = _fp8(blocks / scales)
    meaning = (values.astype(np.float64) * scales).reshape(x.shape)
    return Quantised(values.reshape(x.shape), np.ascontiguousarray(scales[..., 0, :, 0]), meaning)


@dataclass(frozen=True, slots=True)
class Routing:
    """Which token goes to which experts: (token, slot) pairs in the kernel's order, in blocks of 32 rows."""

    experts: NDArray[np.int64]
    weights: NDArray[np.float32]
    tokens: NDArray[np.uint32]
    row_weights: NDArray[np.float32]
    block_experts: NDArray[np.int32]


def routing(rng: np.random.Generator, tokens: int, experts: int, topk: int, rows: int = ROWS) -> Routing:
    chosen = np.stack([rng.permutation(experts)[:topk] for _ in range(tokens)])
    weights = rng.random((tokens, topk)).astype(np.float32)
    ids: list[int] = []
    row_weights: list[float] = []
    blocks: list[int] = []
    for expert in range(experts):
        token, slot = np.nonzero(chosen == expert)
        padding = -len(token) % rows
        ids += (slot << 24 | token).tolist() + [topk << 24 | tokens] * padding
        row_weights += weights[token, slot].tolist() + [0.0] * padding
        blocks += [expert] * ((len(token) + padding) // rows)
    as_arrays = np.array(ids, np.uint32), np.array(row_weights, np.float32), np.array(blocks, np.int32)
    return Routing(chosen, weights, *as_arrays)


@dataclass(frozen=True, slots=True)
class Model:
    """The numbers of a layer and how the kernel treats them."""

    x: Quantised
    w1: Quantised
    w2: Quantised
    routing: Routing
    activation: str
    requantised: int
    slice: int

    def reference(self) -> tuple[Wide, Wide]:
        """The output, and the bound on its error."""
        tokens, dim = self.x.meaning.shape
        out, bound, magnitude = (np.zeros((tokens, dim)) for _ in range(3))
        slices = 0
        for expert in range(len(self.w1.meaning)):
            token, slot = np.nonzero(self.routing.experts == expert)
            if not len(token):
                continue
            hidden, flips = self._hidden(self.x.meaning[token], self.w1.meaning[expert])
            down = self.w2.meaning[expert]
            weight = self.routing.weights[token, slot][:, None].astype(np.float64)
            slices = hidden.shape[1] // self.slice
            for part in np.split(np.arange(hidden.shape[1]), slices):
                term = weight * (hidden[:, part] @ down[:, part].T)
                size = weight * (np.abs(hidden[:, part]) @ np.abs(down[:, part]).T)
                np.add.at(out, token, term)
                np.add.at(magnitude, token, np.abs(term))
                np.add.at(
                    bound,
                    token,
                    summation_error(self.slice + 8, size) + weight * (flips[:, part] @ np.abs(down[:, part]).T),
                )
        additions = slices * self.routing.experts.shape[1]
        return out, bound + (BF16_TRUNCATED + additions * BF16_NEAREST) * magnitude + np.finfo(np.float32).tiny

    def _hidden(self, x: Wide, w1: Wide) -> tuple[Wide, Wide]:
        """The requantised activations, and how far an element near a rounding boundary may be off."""
        h = x @ w1.T
        gate, up = np.split(h, 2, axis=1)
        a = ACTIVATIONS[self.activation](gate) * up
        blocks = a.reshape(len(a), -1, self.requantised)
        scales = np.abs(blocks).max(-1, keepdims=True) / FP8_MAX
        scaled = blocks / scales
        low, middle, high = (
            _fp8(scaled * f).astype(np.float64) for f in (1 - ACTIVATION_ERROR, 1, 1 + ACTIVATION_ERROR)
        )
        flips = (np.maximum(np.abs(high - middle), np.abs(middle - low)) + ACTIVATION_ERROR * np.abs(middle)) * scales
        return (middle * scales).reshape(a.shape), flips.reshape(a.shape)


def case(
    path: str,
    scales: str,
    act: str,
    width: int,
    sizes: Sizes,
    flaw: str = "",
    persistent: int = 0,
    rows: int = ROWS,
) -> ForeignCase:
    """`scales` is "per token" or "block"; `width` is the slice of inter one workgroup handles; `persistent` is the
    number of workgroups that walk over all blocks, 0: one for each; `rows`: of a block."""
    tokens, experts, topk, dim, inter = sizes
    blocks = scales == "block"
    requantised = BLOCK if blocks else width
    rng = np.random.default_rng(tokens + dim + inter)
    x = rng.standard_normal((tokens, dim)).astype(np.float32)
    w1 = rng.standard_normal((experts, 2 * inter, dim)).astype(np.float32) / 8
    w2 = rng.standard_normal((experts, dim, inter)).astype(np.float32) / 8
    in_blocks = (by_block(x, 1), by_block(w1, BLOCK), by_block(w2, BLOCK))
    model = Model(
        *(in_blocks if blocks else (by_row(x), by_row(w1), by_row(w2))),
        routing(rng, tokens, experts, topk, rows),
        act,
        requantised,
        width,
    )
    route = model.routing
    out = np.zeros((tokens, dim), BF16)
    x_scales = np.ascontiguousarray(model.x.scales.T) if blocks else model.x.scales
    counts = np.array([len(route.tokens), tokens], np.int32)

    def judged() -> CaseJudgement:
        return judge(out, *model.reference())

    args = packed(
        *(out, model.x.values, shuffled(model.w1.values), counts, shuffled(model.w2.values)),
        *(x_scales, model.w1.scales, model.w2.scales, None, route.tokens, route.row_weights, route.block_experts),
        *(dim, inter, tokens, experts, dim, dim, inter, 2 * dim),
        *(2 * inter * dim, dim * inter, model.w1.scales[0].nbytes, model.w2.scales[0].nbytes, 4 * inter),
        *(topk, persistent, inter // width),
    )
    shape = f"T={tokens} E={experts} topk={topk} dim={dim} inter={inter}"
    grid = (persistent, 1, 1) if persistent else (inter // width, len(route.block_experts), 1)
    flops = 6.0 * tokens * topk * dim * inter
    variant = f"{scales} scale, {act}" + (", persistent" if persistent else "")
    return ForeignCase("moe_fp8", variant, path, shape, grid, 256, args, judged, flops, flaw)


PER_TOKEN = "fmoe/{act}/fmoe_bf16_pertokenFp8_g1u1_{act}_1tg_32x256.co"
RACED = "fmoe/fmoe_fp8_blockscale_g1u1_subGU_256.co"
RACE = "LDS race and missing lgkmcnt waits, see docs/foreign.md"


def cases(large: bool) -> Iterator[Builder]:
    gelu, silu = PER_TOKEN.format(act="gelu"), PER_TOKEN.format(act="silu")
    folder = "fmoe/silu/fmoe_bf16_blockscaleFp8_g1u1_"
    if large:
        sizes = Sizes(tokens=256, experts=8, topk=2, dim=1024, inter=512)
        yield partial(case, gelu, "per token", "gelu", 256, sizes)
        yield partial(case, f"{folder}novs_silu_1tg_32x128.co", "block", "silu", 128, sizes)
        return
    sizes = Sizes(tokens=40, experts=4, topk=2, dim=512, inter=256)
    yield partial(case, gelu, "per token", "gelu", 256, sizes)
    yield partial(case, silu, "per token", "silu", 256, sizes)
    yield partial(case, gelu, "per token", "gelu", 256, Sizes(tokens=9, experts=2, topk=1, dim=512, inter=512))
    yield partial(case, f"{folder}novs_silu_1tg_32x128.co", "block", "silu", 128, sizes)
    yield partial(case, f"{folder}novs_silu_1tg_ps_32x128.co", "block", "silu", 128, sizes, persistent=4)
    yield partial(case, RACED, "block", "silu", 256, sizes, RACE)
    yield partial(case, f"{folder}vs_silu_1tg_32x256.co", "block", "silu", 256, sizes, RACE)
    yield partial(case, f"{folder}vs_silu_1tg_32x128.co", "block", "silu", 128, sizes)
    yield partial(case, f"{folder}vs_silu_1tg_ps_32x256.co", "block", "silu", 256, sizes, RACE, persistent=4)
    yield partial(case, f"{folder}vs_silu_1tg_64x256.co", "block", "silu", 256, sizes, RACE, rows=64)
    yield partial(case, f"{folder}vs_silu_1tg_psx_64x256.co", "block", "silu", 256, sizes, RACE, persistent=8, rows=64)
