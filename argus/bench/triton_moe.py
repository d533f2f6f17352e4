"""Triton's mixture of experts in fp8 with block scales, in many configurations, compiled by the Triton installed here.

    contestant(MoeConfig(128, 128, 128, warps=8, stages=2, nonkdim=16), layer, route)     -> Contestant, four launches

The form in which inference engines run it: tokens sorted by expert and padded to blocks, one product for gate and up,
SiLU with quantisation by blocks of 128, the product down, and the weighted sum over a token's experts; written anew.
Scales are multiplied in f32 after each step of 128 (or 64) along K. `FULL` holds 46 configurations of the products:
tiles of 32 to 256 rows and 64 to 256 columns, 4 and 8 waves, both matrix instructions, one and two stages, with and
without the XCD map. Compiled and kept by `argus.bench.triton_compile`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from argus import machine
from argus.bench import triton_compile
from argus.bench.contestant import Contestant, Part, executed
from argus.bench.triton_compile import Job, TritonError
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from argus.gfx942.lds import SIZE_BYTES as LDS_BYTES
from argus.ops.moe import SortedRouting

FP8, BF16, F32 = (np.dtype(kind) for kind in (ml_dtypes.float8_e4m3fnuz, ml_dtypes.bfloat16, np.float32))
BLOCK = 128
SMALL_ROWS, SUM_COLUMNS = 4, 1024


@dataclass(frozen=True, slots=True)
class Layer:
    """Sizes of a layer; rows and blocks follow from the routing."""

    tokens: int
    dim: int
    inter: int
    experts: int
    topk: int


@dataclass(frozen=True, slots=True)
class MoeConfig:
    """One configuration of both products."""

    bm: int
    bn: int
    bk: int
    warps: int
    stages: int
    nonkdim: int
    group: int = 1
    xcds: int = 8

    def text(self) -> str:
        return (
            f"{self.bm}x{self.bn}x{self.bk} {self.warps} waves, {self.stages} stages, mfma {self.nonkdim}, "
            f"group {self.group}, {'XCD map' if self.xcds > 1 else 'plain'}"
        )


_TILES = (
    (32, 64, 128), (32, 128, 128), (64, 64, 128), (64, 128, 128), (64, 256, 128), (128, 64, 128), (128, 128, 128),
    (128, 128, 64), (128, 256, 128), (256, 128, 64),
)  # fmt: skip
_STRONG = (MoeConfig(64, 128, 128, 4, 2, 16), MoeConfig(128, 128, 128, 8, 2, 16))
FULL = (
    *(MoeConfig(*tile, warps, 2, inst) for tile, warps, inst in itertools.product(_TILES, (4, 8), (16, 32))),
    *(replace(config, stages=1) for config in _STRONG),
    *(replace(config, xcds=1) for config in _STRONG),
    *(replace(config, group=4) for config in _STRONG),
)
QUICK = (MoeConfig(32, 128, 128, 4, 2, 16), *_STRONG)


def product_object(config: MoeConfig, gather: bool) -> tuple[bytes, int]:
    """The code object of a product and its LDS."""
    pointers = {"a": "*fp8e4b8", "sa": "*fp32", "b": "*fp8e4b8", "sb": "*fp32", "c": "*bf16"}
    places = {"token": "*i32", "expert": "*i32"}
    numbers = dict.fromkeys(("tokens", "rows", "n", "k"), "i32")
    fixed = {"BM": config.bm, "BN": config.bn, "BK": config.bk, "GROUP": config.group, "XCDS": config.xcds}
    job = Job(
        SOURCE, "product", {**pointers, **places, **numbers}, {**fixed, "GATHER": gather}, (*range(7), 9, 10),
        {"num_warps": config.warps, "num_stages": config.stages, "matrix_instr_nonkdim": config.nonkdim},
    )  # fmt: skip
    return triton_compile.compiled(job, config.text())


def _launch(
    function: str, made: tuple[bytes, int], grid: tuple[int, ...], warps: int, tensors: Sequence[Any], *numbers: int
) -> Part:
    code, lds = made
    if lds > LDS_BYTES:
        raise TritonError(f"{lds} bytes of LDS")
    kernel = machine.load(code).kernel(function)
    more = lds - kernel.info.group_segment_fixed_size
    args = (*tensors, *map(np.int32, numbers), None, None)
    return executed(Work(function, kernel, grid, (64 * warps,), args, lds=more))


def contestant(config: MoeConfig, layer: Layer, route: SortedRouting) -> Contestant:
    """The four launches at this layer; `route` has blocks of the configuration's rows."""
    rows, blocks = len(route.tokens), len(route.experts)
    dim, inter, experts = layer.dim, layer.inter, layer.experts
    if dim % config.bn or inter % config.bn:
        raise TritonError(f"{config.text()}: the tiles do not divide {dim} and {inter}")
    x = Operand((layer.tokens, dim), FP8, 1), Operand((layer.tokens, dim // BLOCK), F32, 2)
    up = Operand((experts, 2 * inter, dim), FP8, 3), Operand((experts, 2 * inter // BLOCK, dim // BLOCK), F32, 4)
    down = Operand((experts, dim, inter), FP8, 5), Operand((experts, dim // BLOCK, inter // BLOCK), F32, 6)
    q = Operand((rows, inter), FP8, 7), Operand((rows, inter // BLOCK), F32, 8)
    first = _launch(
        "product", product_object(config, True), (blocks * 2 * inter // config.bn,), config.warps,
        (*x, *up, Operand((rows, 2 * inter), BF16, blank=True), route.tokens, route.experts),
        layer.tokens, rows, 2 * inter, dim,
    )  # fmt: skip
    quantise = Job(
        SOURCE, "quantise", {"h": "*bf16", "q": "*fp8e4b8", "s": "*fp32", "inter": "i32"}, {"ROWS": SMALL_ROWS},
        (0, 1, 2, 3), {"num_warps": 1},
    )  # fmt: skip
    blank = Operand((rows, inter), FP8, blank=True), Operand((rows, inter // BLOCK), F32, blank=True)
    second = _launch(
        "quantise", triton_compile.compiled(quantise, "quantise"), (rows // SMALL_ROWS, inter // BLOCK), 1,
        (Operand((rows, 2 * inter), BF16, 9), *blank), inter,
    )  # fmt: skip
    third = _launch(
        "product", product_object(config, False), (blocks * dim // config.bn,), config.warps,
        (*q, *down, Operand((rows, dim), BF16, blank=True), route.tokens, route.experts),
        layer.tokens, rows, dim, inter,
    )  # fmt: skip
    combine = Job(
        SOURCE, "combine", {"y": "*bf16", "slot": "*i32", "share": "*fp32", "out": "*bf16", "n": "i32"},
        {"TOPK": layer.topk, "COLUMNS": SUM_COLUMNS}, (0, 1, 2, 3, 4), {"num_warps": 2},
    )  # fmt: skip
    fourth = _launch(
        "combine", triton_compile.compiled(combine, "combine"), (layer.tokens, math.ceil(dim / SUM_COLUMNS)), 2,
        (
            Operand((rows, dim), BF16, 10), route.slots, np.ones((layer.tokens, layer.topk), np.float32),
            Operand((layer.tokens, dim), BF16, blank=True),
        ),
        dim,
    )  # fmt: skip
    return Contestant("triton", config.text(), (first, second, third, fourth))


SOURCE = """
import triton
import triton.language as tl


@triton.jit
def product(a, sa, b, sb, c, token, expert, tokens, rows, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            GROUP: tl.constexpr, XCDS: tl.constexpr, GATHER: tl.constexpr):
    pid = tl.program_id(0)
    columns = n // BN
    blocks = tl.num_programs(0) // columns
    if XCDS > 1:
        whole = tl.num_programs(0) // XCDS * XCDS
        per_xcd = whole // XCDS
        if pid < whole:
            pid = (pid % XCDS) * per_xcd + pid // XCDS
    in_group = GROUP * columns
    first = pid // in_group * GROUP
    height = min(blocks - first, GROUP)
    block = first + pid % in_group % height
    column = pid % in_group // height
    who = tl.load(expert + block)
    at_m, at_n, at_k = block * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
    if GATHER:
        row = tl.load(token + at_m)
        inside = row < tokens
    else:
        row = at_m
        inside = row < rows
    a_at = a + row[:, None] * k + at_k[None, :]
    b_at = b + who.to(tl.int64) * n * k + at_n[None, :] * k + at_k[:, None]
    sa_at = sa + row * (k // 128)
    if BN <= 128:
        sb_at = sb + (who * (n // 128) + column * BN // 128) * (k // 128)
    else:
        sb_at = sb + (who * (n // 128) + at_n // 128) * (k // 128)
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(k // BK):
        x = tl.load(a_at, mask=inside[:, None], other=0.0)
        w = tl.load(b_at)
        s = tl.load(sa_at + step * BK // 128, mask=inside, other=0.0)
        t = tl.load(sb_at + step * BK // 128)
        if BN <= 128:
            total += tl.dot(x, w) * (s * t)[:, None]
        else:
            total += tl.dot(x, w) * s[:, None] * t[None, :]
        a_at += BK
        b_at += BK
    tl.store(c + at_m[:, None] * n + at_n[None, :], total.to(tl.bfloat16))


@triton.jit
def quantise(h, q, s, inter, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.program_id(1) * 128 + tl.arange(0, 128)
    gate = tl.load(h + row[:, None] * 2 * inter + at[None, :]).to(tl.float32)
    up = tl.load(h + row[:, None] * 2 * inter + inter + at[None, :]).to(tl.float32)
    x = gate / (1.0 + tl.exp(-gate)) * up
    scale = tl.maximum(tl.max(tl.abs(x), 1), 1e-30) / 240.0
    tl.store(q + row[:, None] * inter + at[None, :], (x / scale[:, None]).to(tl.float8e4b8))
    tl.store(s + row * (inter // 128) + tl.program_id(1), scale)


@triton.jit
def combine(y, slot, share, out, n, TOPK: tl.constexpr, COLUMNS: tl.constexpr):
    token = tl.program_id(0)
    at = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS,), tl.float32)
    for i in tl.static_range(TOPK):
        row = tl.load(slot + token * TOPK + i).to(tl.int64)
        value = tl.load(y + row * n + at, mask=at < n, other=0.0).to(tl.float32)
        total += value * tl.load(share + token * TOPK + i)
    tl.store(out + token * n + at, total.to(tl.bfloat16), mask=at < n)
"""
