"""The sample kernels run on the machine with every check, and equal numpy; a wrong kernel gives wrong numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from argus.ir.kernel import Kernel
from tests.compile.harness import launch
from tests.compile.pipelined import Pipelined
from tests.ir import samples

HALF_UNIT = 2.0**-8


def multiply(kernel: Kernel, m: int, n: int, k: int, tile: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(result, exact product, sum of absolute products) of random matrices."""
    rng = np.random.default_rng(m + n + k)
    a, b = (rng.standard_normal((rows, k)).astype(ml_dtypes.bfloat16) for rows in (m, n))
    c = np.zeros((m, n), ml_dtypes.bfloat16)
    launch(kernel, a, b, c, m, n, k, grid=(n // tile, m // tile, 1))
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    return c.astype(np.float64), wide_a @ wide_b.T, np.abs(wide_a) @ np.abs(wide_b).T


def close(result: np.ndarray, exact: np.ndarray, magnitude: np.ndarray) -> bool:
    """Half a unit of bf16 in the result, and f32 rounding of the sum."""
    return bool((np.abs(result - exact) <= HALF_UNIT * np.abs(exact) + 2.0**-20 * magnitude).all())


@pytest.mark.parametrize("n", [4, 1000, 1024, 3000])
def test_vector_add(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = (rng.standard_normal(n).astype(np.float32) for _ in range(2))
    z = np.zeros(n, np.float32)
    launch(samples.vadd(), x, y, z, n, grid=(-(-n // 1024), 1, 1))
    np.testing.assert_array_equal(z, x + y)


@pytest.mark.parametrize("shape", [(128, 128, 64), (128, 256, 192)])
def test_gemm(shape: tuple[int, int, int]) -> None:
    result, exact, magnitude = multiply(samples.gemm(), *shape, 128)
    assert close(result, exact, magnitude)
    assert abs((result - exact).mean()) < 1e-3 * np.abs(exact).mean()


def test_gemm_with_another_swizzle_in_the_reader_is_wrong() -> None:
    """The compiler compiles what it is given; the numbers show that the checker's objection is real."""
    result, exact, magnitude = multiply(samples.gemm(reader_shift=1), 128, 128, 64, 128)
    assert not close(result, exact, magnitude)


@pytest.mark.parametrize(("waves", "size", "k"), [(4, 32, 128), (8, 32, 192), (8, 16, 64), (4, 16, 64)])
def test_pipelined_gemm(waves: int, size: int, k: int) -> None:
    kernel = Pipelined(waves, size, deep=size == 32, rolling=size == 16).kernel()
    result, exact, magnitude = multiply(kernel, 256, 256, k, 256)
    assert close(result, exact, magnitude)
