"""Triton's flash attention forward in many configurations, compiled by the Triton installed here.

    compiled(AttentionConfig(128, 64, warps=4, stages=1, nonkdim=32))     -> (code object, bytes of LDS)

The published form (FlashAttention-2 as in Triton's tutorial: running maximum and sum, exp2 with the scale folded in,
keys before the diagonal without a mask, then those on it), written anew, with query heads that share a key head, the
longest tiles first and the heads of one key head on one chiplet, as ours. Compiled and kept by
`argus.bench.triton_compile`. `CONFIGS` holds 52: tiles of 64 to 256 queries and 32 to 128 keys, 4 and 8 waves, both
matrix instructions, one and two stages, with and without a wish for two waves per SIMD.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from argus.bench import triton_compile
from argus.bench.triton_compile import Job

HEAD = 128


@dataclass(frozen=True, slots=True)
class AttentionConfig:
    """One configuration."""

    bm: int
    bn: int
    warps: int
    stages: int
    nonkdim: int
    waves_per_eu: int = 0

    def text(self) -> str:
        wish = f", {self.waves_per_eu} waves per SIMD" if self.waves_per_eu else ""
        return f"{self.bm}x{self.bn} {self.warps} waves, {self.stages} stages, mfma {self.nonkdim}{wish}"


_TILES = ((64, 32), (64, 64), (128, 32), (128, 64), (128, 128), (256, 32), (256, 64))
CONFIGS = (
    *(
        AttentionConfig(*tile, warps, stages, inst)
        for tile, warps, stages, inst in itertools.product(_TILES, (4, 8), (1, 2), (16, 32))
        if tile[0] // warps in (16, 32) or (tile[0] == 64 and warps == 4)
    ),
    *(
        AttentionConfig(rows, keys, warps, stages, 32, 2)
        for (rows, keys, warps), stages in itertools.product(
            ((128, 32, 4), (128, 64, 4), (128, 128, 4), (256, 32, 8), (256, 64, 8), (128, 64, 8)), (1, 2)
        )
    ),
)

STRONG = (
    AttentionConfig(128, 32, 4, 2, 32),
    AttentionConfig(128, 32, 4, 2, 32, 2),
    AttentionConfig(128, 64, 4, 2, 32),
    AttentionConfig(256, 32, 8, 2, 32),
)


def compiled(config: AttentionConfig) -> tuple[bytes, int]:
    """The code object and its LDS."""
    job = Job(
        SOURCE,
        "attention",
        {**dict.fromkeys("qkvo", "*bf16"), "lse": "*fp32", "scale": "fp32", "z": "i32", "s": "i32"},
        {"BM": config.bm, "BN": config.bn, "D": HEAD, "CAUSAL": True},
        (0, 1, 2, 3, 4, 6, 7),
        {
            "num_warps": config.warps,
            "num_stages": config.stages,
            "matrix_instr_nonkdim": config.nonkdim,
            "waves_per_eu": config.waves_per_eu,
        },
    )
    return triton_compile.compiled(job, config.text())


SOURCE = """
import triton
import triton.language as tl


@triton.jit
def attention(q, k, v, o, lse, scale, z, s, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    head, tile = tl.program_id(0), tl.num_programs(1) - 1 - tl.program_id(1)
    group, pair = head // z, head % z
    heads = tl.num_programs(0) // z
    rows = tile * BM + tl.arange(0, BM)
    n, d = tl.arange(0, BN), tl.arange(0, D)
    at = ((pair * heads + group) * s).to(tl.int64) * D
    query = tl.load(q + at + rows[:, None] * D + d[None, :])
    k_at = k + pair.to(tl.int64) * s * D + n[None, :] * D + d[:, None]
    v_at = v + pair.to(tl.int64) * s * D + n[:, None] * D + d[None, :]
    factor = scale * 1.4426950408889634
    acc = tl.zeros((BM, D), tl.float32)
    top = tl.full((BM,), -1.0e30, tl.float32)
    den = tl.zeros((BM,), tl.float32)
    clear = tile * BM if CAUSAL else s
    for start in range(0, clear, BN):
        x = tl.dot(query, tl.load(k_at))
        new = tl.maximum(top, tl.max(x, 1) * factor)
        p = tl.math.exp2(x * factor - new[:, None])
        keep = tl.math.exp2(top - new)
        den = den * keep + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.bfloat16), tl.load(v_at), acc * keep[:, None])
        top = new
        k_at += BN * D
        v_at += BN * D
    if CAUSAL:
        for start in range(clear, clear + BM, BN):
            x = tl.dot(query, tl.load(k_at))
            x = tl.where(rows[:, None] >= start + n[None, :], x * factor, -1.0e30)
            new = tl.maximum(top, tl.max(x, 1))
            p = tl.math.exp2(x - new[:, None])
            keep = tl.math.exp2(top - new)
            den = den * keep + tl.sum(p, 1)
            acc = tl.dot(p.to(tl.bfloat16), tl.load(v_at), acc * keep[:, None])
            top = new
            k_at += BN * D
            v_at += BN * D
    tl.store(o + at + rows[:, None] * D + d[None, :], (acc / den[:, None]).to(tl.bfloat16))
    tl.store(lse + (pair * heads + group) * s + rows, (top + tl.math.log2(den)) * 0.6931471805599453)
"""
