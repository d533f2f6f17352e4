"""Launches of Triton kernels with their NumPy references: used by the tests and by bench/machine_faults.py.

case = CASES["softmax"]()
case.run(case.compiled.hsaco, checks="all")      -> LaunchResult; the outputs are in case.args
case.error()                                     -> largest error relative to the largest reference value
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import triton_kernels as kernels

from argus import machine

BF16 = ml_dtypes.bfloat16
FP8, BF8 = ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz


@dataclass
class Case:
    compiled: kernels.Compiled
    grid: tuple[int, ...]
    args: tuple[Any, ...]
    out: int
    reference: Any
    tolerance: float
    _initial: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._initial = [a.copy() if isinstance(a, np.ndarray) else a for a in self.args]

    def run(self, hsaco: bytes, **options: Any) -> machine.LaunchResult:
        for now, initial in zip(self.args, self._initial, strict=True):
            if isinstance(now, np.ndarray):
                now[...] = initial
        kernel = machine.load(hsaco).kernel(self.compiled.name)
        visible = sum(1 for a in kernel.info.args if not a.hidden)
        args = [*self.args, *[None] * (visible - len(self.args))]
        return kernel(self.grid, 64 * self.compiled.warps, *args, lds=self.compiled.lds, **options)

    def outputs(self) -> list[Any]:
        return [self.args[self.out].copy()]

    def error(self) -> float:
        got = self.args[self.out].astype(np.float64)
        if not np.isfinite(got).all():
            return float("inf")
        return float(np.abs(got - self.reference).max() / np.abs(self.reference).max())


def _random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def vadd() -> Case:
    r, n = _random(), 3000
    a, b = r.standard_normal(n, np.float32), r.standard_normal(n, np.float32)
    return Case(kernels.compiled_vadd(), (3,), (a, b, np.zeros_like(a), n), 2, a.astype(np.float64) + b, 1e-7)


def softmax() -> Case:
    rows, n = 3, 1000
    x = _random().standard_normal((rows, n), np.float32) * 3
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(1, keepdims=True))
    reference = e / e.sum(1, keepdims=True)
    return Case(kernels.compiled_softmax(), (rows,), (x, np.zeros_like(x), n), 1, reference, 1e-6)


def layernorm(dtype: Any = np.float32, name: str = "fp32", tolerance: float = 1e-6) -> Case:
    r, rows, n = _random(), 2, 1000
    x, w, b = (
        r.standard_normal((rows, n)).astype(dtype),
        r.standard_normal(n).astype(dtype),
        r.standard_normal(n).astype(dtype),
    )
    wide = x.astype(np.float64)
    normal = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    reference = normal * w.astype(np.float64) + b.astype(np.float64)
    args = (x, w, b, np.zeros_like(x), n, 1e-5)
    return Case(kernels.compiled_layernorm(1024, name), (rows,), args, 3, reference, tolerance)


_TRITON_NAMES = {np.float32: "fp32", np.float16: "fp16", BF16: "bf16", FP8: "fp8e4b8", BF8: "fp8e5b16"}


def matmul(
    tile: tuple[int, int, int],
    k: int,
    element: Any,
    result: Any,
    tolerance: float,
    grid: tuple[int, int] = (1, 1),
    **how: Any,
) -> Case:
    r, m, n = _random(), tile[0] * grid[0], tile[1] * grid[1]
    a, b = r.standard_normal((m, k)).astype(element), r.standard_normal((n, k)).astype(element)
    reference = a.astype(np.float64) @ b.astype(np.float64).T
    compiled = kernels.compiled_matmul(*tile, dtype=_TRITON_NAMES[element], out=_TRITON_NAMES[result], **how)
    return Case(compiled, grid, (a, b, np.zeros((m, n), result), m, n, k, k, k, n), 2, reference, tolerance)


def attention() -> Case:
    r, n, heads, d = _random(), 128, 1, 64
    q, k, v = (r.standard_normal((heads, n, d)).astype(BF16) for _ in range(3))
    scale = 1 / np.sqrt(d)
    scores = np.einsum("hmd,hnd->hmn", q.astype(np.float64), k.astype(np.float64)) * scale
    p = np.exp(scores - scores.max(-1, keepdims=True))
    reference = np.einsum("hmn,hnd->hmd", p / p.sum(-1, keepdims=True), v.astype(np.float64))
    args = (q, k, v, np.zeros_like(q), n, float(scale * 1.4426950408889634))
    return Case(kernels.compiled_attention(64, 32, d), (n // 64, heads), args, 3, reference, 4e-3)


def column_sums() -> Case:
    m, n = 100, 128
    x = _random().standard_normal((m, n), np.float32)
    reference = x.astype(np.float64).sum(0)
    return Case(kernels.compiled_column_sums(), (2,), (x, np.zeros(n, np.float32), m, n), 1, reference, 1e-6)


def histogram() -> Case:
    n = 700
    x = _random().integers(0, 16, n).astype(np.int32)
    reference = np.bincount(x, minlength=16).astype(np.float64)
    return Case(kernels.compiled_histogram(), (3,), (x, np.zeros(16, np.int32), n), 1, reference, 0)


def splitk() -> Case:
    r, m, n, k = _random(), 32, 32, 128
    a, b = r.standard_normal((m, k)).astype(np.float16), r.standard_normal((n, k)).astype(np.float16)
    reference = a.astype(np.float64) @ b.astype(np.float64).T
    return Case(kernels.compiled_splitk(), (1, 1, 2), (a, b, np.zeros((m, n), np.float32), m, n, k), 2, reference, 1e-6)


CASES: dict[str, Callable[[], Case]] = {
    "vadd": vadd,
    "softmax": softmax,
    "layernorm": layernorm,
    "layernorm-fp16": lambda: layernorm(np.float16, "fp16", 1e-3),
    "column-sums": column_sums,
    "histogram": histogram,
    "split-k": splitk,
    "gemm-bf16-16": lambda: matmul((64, 64, 32), 128, BF16, BF16, 4e-3),
    "gemm-bf16-32": lambda: matmul((64, 64, 32), 128, BF16, BF16, 4e-3, kdim=32),
    "gemm-f16": lambda: matmul((32, 64, 32), 96, np.float16, np.float32, 1e-6),
    "gemm-fp8": lambda: matmul((64, 32, 64), 128, FP8, np.float32, 1e-6),
    "gemm-bf8": lambda: matmul((64, 32, 64), 128, BF8, np.float32, 1e-6),
    "gemm-xf32": lambda: matmul((32, 32, 32), 64, np.float32, np.float32, 1e-3),
    "attention": attention,
}
