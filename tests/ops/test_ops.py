"""Operations on numpy arrays on the simulated machine, and what they refuse."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus import ops
from argus.device.guards import LaunchRefused

BF16 = ml_dtypes.bfloat16


def normal(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def test_matmul_with_few_rows() -> None:
    a, b = normal(5, 128, dtype=BF16), normal(24, 128, dtype=BF16, seed=1)
    got = ops.matmul(a, b, device="jit")
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


def vast(*shape: int, dtype: Any = BF16) -> Any:
    """An array of this shape over one element: refusals look at the shape first."""
    return np.broadcast_to(np.ones((), dtype), shape)


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: ops.softmax(vast(1 << 18, 4096)), "x has 2147483648 bytes.*nearest is 262143 rows"),
        (lambda: ops.rowsum(vast(1 << 18, 4096)), "nearest is 262143 rows"),
        (lambda: ops.relu(vast(1 << 30)), "nearest is 1073741823 elements"),
        (lambda: ops.add(vast(1 << 30), vast(1 << 30)), "nearest is 1073741823 elements"),
        (lambda: ops.transpose(vast(1 << 16, 1 << 14)), "nearest is 65535 of the 65536 rows"),
        (lambda: ops.quantise(vast(1 << 18, 4096)), "fewer rows"),
        (lambda: ops.attention(*[vast(32, 32, 8192, 128)] * 3), "q has 2147483648 bytes.*nearest is 31 batches"),
        (lambda: ops.attention(vast(32, 8, 8, 128), *[vast(32, 8, 32768, 128)] * 2), "k has .*nearest is 31 batches"),
        (lambda: ops.attention(*[vast(1, 32, 1 << 18, 128)] * 3), "fewer heads"),
        (
            lambda: ops.attention_lengths(*[vast(1 << 20, 8, 128)] * 3, [0, 1 << 20], [0, 1 << 20]),
            "nearest is 1048575 tokens",
        ),
    ],
)
def test_what_kernels_do_not_reach_is_refused_before_anything_is_made(attempt: Any, words: str) -> None:
    with pytest.raises(ops.NoKernel, match=words):
        attempt()


SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 3e38, -3e38, 1e-40, -100.0, 1.0]


@pytest.mark.parametrize("name", ["relu", "silu", "gelu"])
def test_activations_of_what_is_not_finite_follow_their_formulas(name: str) -> None:
    x = np.array(SPECIAL, np.float32)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        inner = wide if name == "silu" else 1.5957691216057308 * (wide + 0.044715 * wide**3)
        want = np.maximum(wide, 0) if name == "relu" else wide / (1 + np.exp(-inner))
    got = getattr(ops, name)(x, device="jit")
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    assert np.isnan(got[0])
    np.testing.assert_allclose(got[1:], want[1:], rtol=2e-6, atol=1e-37)


def test_the_maximum_of_a_row_passes_over_what_is_no_number() -> None:
    x = np.full((4, 96), -5.0, np.float32)
    x[0, 7], x[1, 8], x[2, 9] = np.nan, np.inf, -np.inf
    x[3] = np.nan
    largest = ops.rowmax(x, device="jit")
    np.testing.assert_array_equal(largest[:3], np.fmax.reduce(x[:3], axis=1))
    assert np.isnan(largest[3]) or largest[3] == -np.inf
    sums = ops.rowsum(x, device="jit")
    assert np.isnan(sums[[0, 3]]).all()
    assert sums[1] == np.inf
    assert sums[2] == -np.inf


@pytest.mark.parametrize(
    ("attempt", "error", "words"),
    [
        (
            lambda: ops.matmul(normal(4, 8, dtype=BF16), normal(4, 9, dtype=BF16)),
            ops.NoKernel,
            "K = 8 and b has K = 9",
        ),
        (lambda: ops.matmul(normal(4, 8, dtype=BF16), normal(4, 8)), ops.NoKernel, "b is f32 but a is bf16"),
        (lambda: ops.matmul(normal(8, dtype=BF16), normal(4, 8, dtype=BF16)), ops.NoKernel, "takes matrices"),
        (lambda: ops.softmax(normal(4, 8)[:, ::2]), LaunchRefused, "contiguous"),
        (lambda: ops.softmax(normal()), ops.NoKernel, "needs rows"),
        (lambda: ops.softmax([1.0]), LaunchRefused, "list"),
        (lambda: ops.add(normal(4), normal(5)), ops.NoKernel, "one shape"),
        (lambda: ops.rmsnorm(normal(2, 4), normal(5)), ops.NoKernel, r"W must be f32\[4\]"),
        (lambda: ops.softmax(normal(2, 4), device="tpu"), LaunchRefused, "no device 'tpu'"),
        (lambda: ops.attention(normal(2, 4), normal(2, 4), normal(2, 4)), ops.NoKernel, r"q \[B, H, Sq, D\]"),
    ],
)
def test_bad_operands_are_refused(attempt: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        attempt()
