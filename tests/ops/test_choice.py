"""The dispatcher: every choice is a legal kernel, refusals name the nearest, tables are well formed."""

from __future__ import annotations

import random

import pytest

from argus.device.guards import check_sizes
from argus.lang import read
from argus.ops.choice import (
    NoKernel,
    choose_elementwise,
    choose_matmul,
    choose_rows,
    choose_transpose,
    table,
)


def shapes(count: int) -> list[tuple[int, int, int]]:
    dice = random.Random(0)
    return [tuple(int(2 ** dice.uniform(0, 13)) for _ in range(3)) for _ in range(count)]  # type: ignore[misc]


@pytest.mark.parametrize("shape", [*shapes(3), (1024, 1024, 1024), (16, 28672, 8192)])
@pytest.mark.parametrize(
    "stored",
    [(False, False), *(pytest.param(s, marks=pytest.mark.full) for s in ((True, False), (False, True), (True, True)))],
)
def test_any_shape_has_a_kernel_that_takes_it(shape: tuple[int, int, int], stored: tuple[bool, bool]) -> None:
    m, n, k = shape
    choice = choose_matmul(m, n, k, "bf16", a_by_k=stored[0], b_by_k=stored[1])
    kernel = read(choice.path, settings=dict(choice.knobs), kernel=choice.kernel)
    check_sizes(kernel, {"M": m, "N": n, "K": k})


@pytest.mark.parametrize("n", [1, 1000, 32768])
@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
def test_any_row_has_a_kernel_that_takes_it(n: int, dtype: str) -> None:
    choice = choose_rows("softmax", n, dtype)
    kernel = read(choice.path, settings=dict(choice.knobs), kernel=choice.kernel)
    check_sizes(kernel, {"M": 3, "N": n})


def test_rows_that_fill_the_registers_are_not_masked() -> None:
    assert choose_rows("softmax", 4096, "bf16").knobs["EXACT"] is True
    assert "EXACT" not in choose_rows("softmax", 4088, "bf16").knobs


def test_elements_and_matrices_have_kernels() -> None:
    for n in (1, 3, 8, 1000, 4097):
        choice = choose_elementwise("binary", "add", n, "bf16")
        check_sizes(read(choice.path, settings=dict(choice.knobs), kernel=choice.kernel), {"N": n})
        choice = choose_transpose(n, 40, "f32")
        check_sizes(read(choice.path, settings=dict(choice.knobs), kernel=choice.kernel), {"M": n, "N": 40})


def test_a_row_of_these_sizes_decides() -> None:
    for row in table("matmul")["rows"]:
        m, n, k = row["M"], row["N"], row["K"]
        known = [r for r in table("matmul")["rows"] if (r["M"], r["N"], r["K"]) == (m, n, k)]
        assert choose_matmul(m, n, k, "bf16").knobs["BM"] == known[0]["knobs"]["BM"]


def test_a_short_product_is_not_split() -> None:
    for m, n, k in ((284, 72, 202), (282, 5, 81), (64, 64, 64)):
        assert choose_matmul(m, n, k, "bf16").then is None


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: choose_matmul(4, 4, 4, "f64"), "no kernel for f64; there are bf16, f16"),
        (lambda: choose_matmul(4, 4, 4, "bf16", activation="tanh"), "no activation 'tanh'"),
        (lambda: choose_matmul(0, 4, 4, "bf16"), "M >= 1"),
        (lambda: choose_matmul(1 << 24, 4, 64, "bf16"), "the k-steps of A on their way have 2147483648 bytes"),
        (lambda: choose_matmul(64, 64, 1 << 26, "bf16"), "split the product along M, N or K"),
        (lambda: choose_rows("softmax", 4096, "bf16", m=1 << 18), "nearest is 262143 rows of 4096 at a time"),
        (lambda: choose_rows("softmax", 1 << 30, "f32"), "rows are shorter"),
        (lambda: choose_elementwise("binary", "add", 1 << 29, "f32"), "nearest is 536870911 elements at a time"),
        (lambda: choose_transpose(1 << 16, 1 << 14, "bf16"), "nearest is 65535 of the 65536 rows"),
        (lambda: choose_rows("softmax", 10, "f64"), "nearest is f32"),
        (lambda: choose_rows("softmax", 0, "f32"), "at least one element"),
        (lambda: choose_elementwise("unary", "silu", 0, "f32"), "at least one element"),
    ],
)
def test_refusals_name_the_reason(attempt: object, words: str) -> None:
    assert callable(attempt)
    with pytest.raises(NoKernel, match=words):
        attempt()
