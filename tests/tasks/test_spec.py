"""The specification language against numpy written by hand, and its error bound against real f32 arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from argus.tasks.compare import compare
from argus.tasks.spec import Bounded, SpecError, evaluate, parse, validate

RNG = np.random.default_rng(7)
A = RNG.standard_normal((5, 33))
B = RNG.standard_normal((7, 33))
X = RNG.standard_normal(11)


def value(text: str, symbols: dict[str, float] | None = None) -> Bounded:
    return evaluate(parse(text), {"A": A, "B": B, "x": X}, symbols or {})


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("C[m, n] = sum(A[m, k] * B[n, k], k)", A @ B.T),
        ("C[n, m] = sum(A[m, k] * B[n, k], k)", (A @ B.T).T),
        ("C[m] = sum(A[m, k], k)", A.sum(1)),
        ("C[k] = max(A[m, k], m)", A.max(0)),
        ("y[i] = x[i] * 2 + s", X * 2 + 3.0),
        ("y[i] = -x[i] / (1 + abs(x[i]))", -X / (1 + np.abs(X))),
        ("C[m, k] = exp2(A[m, k] - max(A[m, k], k))", np.exp2(A - A.max(1, keepdims=True))),
        ("C[m, k] = where(k <= m, A[m, k], 0)", np.where(np.arange(33)[None] <= np.arange(5)[:, None], A, 0)),
        ("y[i] = maximum(x[i], 0) + minimum(x[i], 0)", X),
        ("C[m, n] = sum((A[m, k] + 1) * B[n, k], k)", (A + 1) @ B.T),
    ],
)
def test_value_is_numpys(text: str, want: np.ndarray) -> None:
    np.testing.assert_allclose(value(text, {"s": 3.0}).value, want, rtol=1e-12, atol=1e-12)


def test_bound_holds_for_f32_in_any_order_and_is_not_vacuous() -> None:
    a, b = A.astype(np.float32), B.astype(np.float32)
    want = evaluate(parse("C[m, n] = sum(A[m, k] * B[n, k], k)"), {"A": a, "B": b}, {})
    for _ in range(50):
        order = RNG.permutation(33)
        got = np.zeros((5, 7), np.float32)
        for k in order:
            got = got + a[:, k, None] * b[None, :, k]
        assert np.all(np.abs(got - want.value) <= want.error)
    assert np.all(want.error < 1e-4)


@pytest.mark.parametrize(
    "text",
    [
        "C[m, n]",
        "C[m, n] = A[m, k] *",
        "C = A[m, k]",
        "C[m] = A[m, k]",
        "C[m, m] = A[m, m]",
        "C[m, k] = D[m, k]",
        "C[m] = A[m]",
        "C[m, k] = A[m, k] + B[m, k]",
        "C[m, k] = __import__('os').system('true')",
        "C[m, k] = A[m, k].T",
        "C[m, k] = A[m + 1, k]",
        "C[m, k] = lambda: 1",
    ],
)
def test_wrong_specifications_are_errors(text: str) -> None:
    with pytest.raises(SpecError):
        value(text)


def test_comparison_finds_one_wrong_element() -> None:
    want = value("C[m, n] = sum(A[m, k] * B[n, k], k)")
    good = want.value.astype(np.float32)
    assert compare(good, want).ok
    bad = good.copy()
    bad[3, 2] += 1e-3
    found = compare(bad, want)
    assert (found.wrong, found.first_wrong) == (1, (3, 2))
    assert found.worst > 1


def test_comparison_rejects_nan_and_wrong_infinity() -> None:
    want = Bounded(("i",), np.array([1.0, np.inf, np.nan]), np.zeros(3))
    assert compare(np.array([1.0, np.inf, np.nan], np.float32), want).ok
    assert compare(np.array([np.nan, np.inf, np.nan], np.float32), want).wrong == 1
    assert compare(np.array([1.0, -np.inf, 0.0], np.float32), want).wrong == 2


@pytest.mark.parametrize(
    "text",
    ["C[m, k] = D[m, k]", "E[m, k] = A[m, k]", "C[m] = A[m, k]", "C[m, k] = A[m, k] + q", "C[m, k] = erf(A[m, k])",
     "C[m, k] = A[m, k] + B[m]"],
)  # fmt: skip
def test_what_no_size_can_mend_is_refused_without_data(text: str) -> None:
    with pytest.raises(SpecError):
        validate(parse(text), {"A": 2, "B": 2, "C": 2}, {"s"})


def test_good_specifications_validate() -> None:
    for text in ("C[m, n] = sum(A[m, k] * B[n, k], k) * s", "C[m, k] = where(k <= m, exp2(A[m, k]), 0)"):
        validate(parse(text), {"A": 2, "B": 2, "C": 2}, {"s"})
