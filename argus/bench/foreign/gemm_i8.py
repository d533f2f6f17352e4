"""AITER's i8 GEMM: D = bf16((A Bᵀ) * row scale * column scale + bias), A[M, K] and B[N, K] in i8, sums exact in i32.

Arguments, 16 bytes each (csrc/py_itfs_cu/asm_gemm_a8w8.cu):

    D, A, B, scales of A (f32[M]), scales of B (f32[N]), bias (f32[N]), M, N, K,
    row length of A and B (in elements), row length of D (in bytes), splits of K

B is stored in blocks of 16 rows and 32 columns, a block as two halves of 16 columns (aiter/ops/shuffle.py, layout
(16, 16)). Grid (N / tile N * splits, ceil(M / tile M), 1), 256 threads. With splits, D starts as zero and every part
is added to it in bf16. Rows of A may be longer than K. The conversion to bf16 cuts the low half of the f32 off: it
rounds toward zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from argus.bench.foreign.case import (
    BF16,
    BF16_NEAREST,
    BF16_TRUNCATED,
    F32_UNIT,
    Builder,
    CaseJudgement,
    ForeignCase,
    Wide,
    judge,
    packed,
)
from argus.bench.foreign.shuffle import shuffled

STEP_K = 128
RACE = "LDS race in the epilogue, see docs/foreign.md"


def case(
    variant: str, tile: str, m: int, n: int, k: int, *, splits: int = 1, pad: int = 0, flaw: str = ""
) -> ForeignCase:
    rng = np.random.default_rng(m + n + k)
    a = rng.integers(-128, 128, (m, k + pad), np.int8)
    b = rng.integers(-128, 128, (n, k), np.int8)
    row_scale, column_scale = (rng.uniform(0.5, 1.5, size).astype(np.float32) / 128 for size in (m, n))
    bias = (10 * rng.random(n)).astype(np.float32)
    d = np.zeros((m, n), BF16)
    tile_m, tile_n = (int(x) for x in tile.split("x"))

    def judged() -> CaseJudgement:
        x, y = a[:, :k].astype(np.int64), b.astype(np.int64)
        scales = row_scale[:, None].astype(np.float64) * column_scale[None, :]
        parts = np.stack([x[:, s.ravel()] @ y[:, s.ravel()].T * scales for s in _steps(k, splits)])
        reference: Wide = parts.sum(0) + bias.astype(np.float64)
        magnitude = np.abs(parts).sum(0) + np.abs(bias)
        cut = np.abs(reference) if splits == 1 else magnitude
        bound = BF16_TRUNCATED * cut + ((splits - 1) * BF16_NEAREST + 4 * F32_UNIT) * magnitude
        return judge(d, reference, bound)

    args = packed(d, a, shuffled(b), row_scale, column_scale, bias, m, n, k, k + pad, k, 2 * n, splits)
    grid = (n // tile_n * splits, -(-m // tile_m), 1)
    path = f"i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_{tile}.co"
    return ForeignCase("gemm_i8", variant, path, f"{m}x{n}x{k}", grid, 256, args, judged, 2.0 * m * n * k, flaw)


def _steps(k: int, splits: int) -> list[NDArray[np.int64]]:
    return np.array_split(np.arange(k).reshape(-1, STEP_K), splits)


def cases(large: bool) -> Iterator[Builder]:
    if large:
        yield partial(case, "bias", "128x128", 256, 1024, 2048)
        return
    yield partial(case, "M tail, bias", "32x128", 50, 128, 512)
    yield partial(case, "M = 1, bias", "16x128", 1, 128, 512)
    yield partial(case, "long rows of A", "64x128", 64, 128, 512, pad=128)
    yield partial(case, "tail of a 256-wide tile", "112x256", 120, 256, 512, flaw=RACE)
    yield partial(case, "split-K 2, M tail", "32x128", 50, 128, 1024, splits=2)
