"""Operations on numpy arrays, and on tensors in torch's manner, on the simulated machine."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus import ops
from argus.device.guards import LaunchError

BF16 = ml_dtypes.bfloat16


def normal(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def test_matmul_with_few_rows() -> None:
    a, b = normal(5, 128, dtype=BF16), normal(24, 128, dtype=BF16, seed=1)
    got = ops.matmul(a, b, device="machine")
    assert got.dtype == BF16
    np.testing.assert_allclose(got.astype(float), a.astype(float) @ b.astype(float).T, rtol=2**-8, atol=1e-3)


def test_rows_and_elements() -> None:
    x, w = normal(2, 3, 96), normal(96, seed=2)
    flat = x.astype(float)
    e = np.exp(flat - flat.max(-1, keepdims=True))
    np.testing.assert_allclose(ops.softmax(x), e / e.sum(-1, keepdims=True), rtol=1e-5)
    rms = flat / np.sqrt((flat**2).mean(-1, keepdims=True) + 1e-6) * w
    np.testing.assert_allclose(ops.rmsnorm(x, w), rms, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ops.rowsum(x), flat.sum(-1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ops.add(x, x), x + x)
    np.testing.assert_allclose(ops.silu(x), flat / (1 + np.exp(-flat)), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(ops.transpose(x[0]), x[0].T)


def test_rows_longer_than_registers_are_walked() -> None:
    x = normal(1, 40004)
    np.testing.assert_allclose(ops.rowmax(x), x.max(-1))


@pytest.mark.full
def test_long_rows_normalised() -> None:
    x, w, b = normal(2, 40004), normal(40004, seed=2), normal(40004, seed=3)
    flat = x.astype(float)
    e = np.exp(flat - flat.max(-1, keepdims=True))
    np.testing.assert_allclose(ops.softmax(x), e / e.sum(-1, keepdims=True), rtol=1e-5)
    scaled = flat / np.sqrt((flat**2).mean(-1, keepdims=True) + 1e-6) * w
    np.testing.assert_allclose(ops.rmsnorm(x, w), scaled, rtol=1e-5, atol=1e-6)
    off = flat - flat.mean(-1, keepdims=True)
    normed = off / np.sqrt((off**2).mean(-1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(ops.layernorm(x, w, b), normed, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("attempt", "error", "words"),
    [
        (
            lambda: ops.matmul(normal(4, 8, dtype=BF16), normal(4, 9, dtype=BF16)),
            ops.Unsupported,
            "K = 8 and b has K = 9",
        ),
        (lambda: ops.matmul(normal(4, 8, dtype=BF16), normal(4, 8)), ops.Unsupported, "b is f32 but a is bf16"),
        (lambda: ops.matmul(normal(8, dtype=BF16), normal(4, 8, dtype=BF16)), ops.Unsupported, "takes matrices"),
        (lambda: ops.softmax(normal(4, 8)[:, ::2]), LaunchError, "contiguous"),
        (lambda: ops.softmax(normal(0, 8)), ops.Unsupported, "needs rows"),
        (lambda: ops.softmax([1.0]), LaunchError, "list"),
        (lambda: ops.add(normal(4), normal(5)), ops.Unsupported, "one shape"),
        (lambda: ops.rmsnorm(normal(2, 4), normal(5)), ops.Unsupported, r"W must be f32\[4\]"),
        (lambda: ops.softmax(normal(2, 4), device="tpu"), LaunchError, "no device 'tpu'"),
        (lambda: ops.attention(normal(2, 4), normal(2, 4), normal(2, 4)), ops.Unsupported, r"q \[B, H, Sq, D\]"),
    ],
)
def test_bad_operands_are_refused(attempt: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        attempt()
