"""Operands without elements: every operation with each of its extents 0. tests/torch does it with tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus import ops

BF16, FP8 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fnuz
Made = Callable[..., Any]


def ones(*shape: int, dtype: Any = BF16) -> Any:
    return np.ones(shape, dtype)


def lengths(f: Made, tq: int, tk: int, h: int = 2, hk: int = 1) -> Any:
    return ops.attention_lengths(f(ones(tq, h, 64)), *[f(ones(tk, hk, 64))] * 2, [0, tq], [0, tk], device="jit")


def attention(f: Made, b: int, h: int, hk: int, sq: int, sk: int) -> Any:
    return ops.attention(f(ones(b, h, sq, 64)), *[f(ones(b, hk, sk, 64))] * 2, causal=True, device="jit")


def fp8(f: Made, m: int, n: int, k: int) -> Any:
    scales = f(ones(m, k // 128, dtype=np.float32)), f(ones(n // 128, k // 128, dtype=np.float32))
    return ops.fp8_matmul(f(ones(m, k, dtype=FP8)), scales[0], f(ones(n, k, dtype=FP8)), scales[1], device="jit")


def moe(f: Made, tokens: int, topk: int, dim: int, inter: int) -> Any:
    weights = f(ones(2, 2 * inter, dim, dtype=FP8)), f(ones(2, dim, inter, dtype=FP8))
    scales = [(2, 2 * inter // 128, dim // 128), (2, dim // 128, inter // 128)]
    given = (*weights, *(f(ones(*shape, dtype=np.float32)) for shape in scales))
    ids, share = f(np.zeros((tokens, topk), np.int64)), f(ones(tokens, topk, dtype=np.float32))
    return ops.moe(f(ones(tokens, dim)), *given, ids, share, device="jit")


def zeros(*shape: int) -> Any:
    return np.zeros(shape)


NONE = -np.inf
CASES: dict[str, tuple[Callable[[Made], Any], list[Any]]] = {
    **{
        f"matmul {m} {n} {k}": (lambda f, m=m, n=n, k=k: ops.matmul(f(ones(m, k)), f(ones(n, k))), [zeros(m, n)])
        for m, n, k in ((0, 8, 8), (8, 0, 8), (8, 8, 0), (0, 0, 0))
    },
    "matmul by k": (lambda f: ops.matmul(f(ones(0, 8)), f(ones(0, 4)), a_by_k=True, b_by_k=True), [zeros(8, 4)]),
    "matmul and bias": (
        lambda f: ops.matmul(f(ones(3, 0)), f(ones(8, 0)), bias=f(-2 * ones(8)), device="jit"),
        [zeros(3, 8) - 2],
    ),
    "matmul and relu": (
        lambda f: ops.matmul(
            f(ones(3, 0)), f(ones(8, 0)), bias=f(-2 * ones(8)), activation="relu", device="jit"
        ),
        [zeros(3, 8)],
    ),
    **{
        f"fp8_matmul {m} {n} {k}": (lambda f, m=m, n=n, k=k: fp8(f, m, n, k), [zeros(m, n)])
        for m, n, k in ((0, 128, 128), (3, 0, 128), (3, 128, 0))
    },
    "quantise no rows": (lambda f: ops.quantise(f(ones(0, 256))), [zeros(0, 256), zeros(0, 2)]),
    "quantise no columns": (lambda f: ops.quantise(f(ones(3, 0))), [zeros(3, 0), zeros(3, 0)]),
    **{
        f"moe {shape}": (lambda f, shape=shape: moe(f, *shape), [zeros(shape[0], shape[2])])
        for shape in ((0, 2, 256, 128), (3, 0, 256, 128), (3, 2, 0, 128), (3, 2, 256, 0))
    },
    **{
        f"softmax {shape}": (lambda f, shape=shape: ops.softmax(f(ones(*shape))), [zeros(*shape)])
        for shape in ((0, 8), (4, 0), (2, 0, 8))
    },
    "rmsnorm": (lambda f: ops.rmsnorm(f(ones(0, 8)), f(ones(8))), [zeros(0, 8)]),
    "layernorm": (lambda f: ops.layernorm(f(ones(4, 0)), f(ones(0)), f(ones(0))), [zeros(4, 0)]),
    "rowsum": (lambda f: ops.rowsum(f(ones(4, 0))), [zeros(4)]),
    "rowsum of no rows": (lambda f: ops.rowsum(f(ones(0, 4))), [zeros(0)]),
    "rowmean": (lambda f: ops.rowmean(f(ones(4, 0))), [zeros(4) + np.nan]),
    "rowmax of no rows": (lambda f: ops.rowmax(f(ones(0, 4))), [zeros(0)]),
    "add": (lambda f: ops.add(f(ones(3, 0)), f(ones(3, 0))), [zeros(3, 0)]),
    "relu": (lambda f: ops.relu(f(ones(0))), [zeros(0)]),
    "transpose no rows": (lambda f: ops.transpose(f(ones(0, 5))), [zeros(5, 0)]),
    "transpose no columns": (lambda f: ops.transpose(f(ones(5, 0))), [zeros(0, 5)]),
    **{
        f"attention {s}": (
            lambda f, s=s: attention(f, *s),
            [zeros(s[0], s[1], s[3], 64), zeros(s[0], s[1], s[3]) + NONE],
        )
        for s in ((0, 2, 1, 4, 4), (1, 0, 0, 4, 4), (1, 0, 1, 4, 4), (1, 2, 1, 0, 4), (1, 2, 1, 4, 0))
    },
    **{
        f"attention_lengths {s}": (lambda f, s=s: lengths(f, *s), [zeros(s[0], s[2], 64), zeros(s[2], s[0]) + NONE])
        for s in ((0, 4, 2, 1), (4, 0, 2, 1), (4, 4, 0, 0))
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_nothing_in(name: str) -> None:
    operation, wanted = CASES[name]
    found = operation(np.array)
    for got, want in zip(found if isinstance(found, tuple) else [found], wanted, strict=True):
        np.testing.assert_array_equal(got.astype(np.float64), want)


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: ops.rowmax(ones(4, 0)), "have no max"),
        (lambda: ops.softmax(np.float64(np.ones((0, 4)))), "no kernel for f64"),
        (lambda: ops.matmul(ones(0, 4), ones(3, 4), activation="tanh"), "no activation"),
        (lambda: attention(np.array, 1, 1, 0, 4, 4), "HK divides H"),
        (lambda: ops.attention(*[ones(1, 1, 0, 0)] * 3), "head dimension 0"),
    ],
)
def test_nothing_is_no_excuse(attempt: Any, words: str) -> None:
    with pytest.raises(ops.NoKernel, match=words):
        attempt()
