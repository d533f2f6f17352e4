"""AITER's bf16 GEMM, D = A Bᵀ (+ bias): row-major A[M, K], B[N, K] in bf16, D in f32 or bf16.

Arguments and grid are those of `argus.bench.aiter_matmul`. Kernels named `splitk_clean` divide K over gridDim.z; the
group with z = 0 clears D and opens the tile's semaphore, the others wait for it and all add their part with atomics, in
bf16 when D is bf16.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from argus.bench.aiter_matmul import FOLDER, NAME, THREADS, arguments, grid
from argus.bench.foreign.case import (
    BF16,
    BF16_NEAREST,
    Builder,
    CaseJudgement,
    ForeignCase,
    Wide,
    judge,
    normal,
    summation_error,
)

STEP_K = 64


def case(
    variant: str, tile: str, m: int, n: int, k: int, *, splits: int = 1, wide: bool = True, bias: bool = False
) -> ForeignCase:
    """`tile` is the part of the object's name that says tile and pipeline, such as "64x64_pf3_splitk"."""
    rng = np.random.default_rng(m + n + k)
    a, b, added = normal(rng, m, k), normal(rng, n, k), normal(rng, n)
    d = np.zeros((m, n), np.float32 if wide else BF16)
    tile_m = int(tile.split("x")[0])
    semaphore = np.zeros(1024, np.uint32) if splits > 1 else None

    def judged() -> CaseJudgement:
        x, y = a.astype(np.float64), b.astype(np.float64)
        reference, magnitude = x @ y.T, np.abs(x) @ np.abs(y).T
        if bias:
            reference, magnitude = reference + added.astype(np.float64), magnitude + np.abs(added.astype(np.float64))
        bound = summation_error(k + splits, magnitude)
        if not wide:
            bound += BF16_NEAREST * (np.abs(reference) if splits == 1 else _partial_sums(x, y, splits))
        return judge(d, reference, bound)

    args = arguments(d, a, b, m, n, k, splits=splits, bias=added if bias else None, semaphore=semaphore)
    path = f"{FOLDER}/{NAME.format(tile)}"
    return ForeignCase(
        "gemm_bf16", variant, path, f"{m}x{n}x{k}", grid(tile_m, m, n, splits), THREADS, args, judged, 2.0 * m * n * k
    )


def _partial_sums(x: Wide, y: Wide, splits: int) -> Wide:
    """Sum of the magnitudes of everything that is rounded to bf16: each part, and D after each addition."""
    steps = np.array_split(np.arange(x.shape[1]).reshape(-1, STEP_K), splits)
    parts = np.stack([np.abs(x[:, s.ravel()] @ y[:, s.ravel()].T) for s in steps])
    total: Wide = (1 + splits) * parts.sum(0)
    return total


def cases(large: bool) -> Iterator[Builder]:
    if large:
        yield partial(case, "f32 out", "96x64_pf3_splitk", 384, 1024, 2048)
        yield partial(case, "bf16 out", "64x64_pf3_splitk", 512, 1024, 2048, wide=False)
        return
    yield partial(case, "M tail, f32 out", "64x64_pf3_splitk", 100, 128, 256)
    yield partial(case, "M tail, bf16 out, bias", "64x64_pf3_splitk", 100, 128, 256, wide=False, bias=True)
    yield partial(case, "f32 out", "96x64_pf3_splitk", 96, 128, 512)
    yield partial(case, "M = 1, f32 out, bias", "32x64_pf3_splitk", 1, 64, 320, bias=True)
    yield partial(case, "split-K 2, f32 out", "32x64_splitk_clean", 32, 64, 512, splits=2)
    yield partial(case, "split-K 2, bf16 out", "64x64_splitk_clean", 64, 64, 512, splits=2, wide=False)
    yield partial(
        case, "split-K 4, M tail, bf16 out, bias", "48x64_splitk_clean", 70, 128, 1024, splits=4, wide=False, bias=True
    )
