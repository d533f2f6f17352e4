"""Where a specification has a value over the real numbers, and that nothing is compared elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from argus.spec import evaluate
from argus.spec.compare import compare
from tests.spec.stated import stated

X = np.array([0.0, -2.0, 1.0, 2.0], np.float32)
Y = np.array([0.0, 3.0, 0.0, 1234.5], np.float32)
NONE: tuple[int, ...] = ()
CASES = [
    ("x[i] + y[i]", NONE),
    ("exp(-1 / abs(y[i]))", (0, 2)),
    ("exp(-(x[i] * x[i] + 1) / (y[i] * y[i]))", (0, 2)),
    ("1 / (1 / x[i] + 1 / y[i])", (0, 2)),
    ("where(y[i] > 0, 1 / y[i], 0)", NONE),
    ("where(y[i] > 0, log(y[i]), x[i])", NONE),
    ("where(log(y[i]) > 0, 1, 0)", (0, 2)),
    ("minimum(rsqrt(y[i]), 3)", (0, 2)),
    ("tanh(sqrt(x[i]))", (1,)),
    ("pow(x[i], 0.5) * 0", (0, 1)),
    ("exp(3 * log(abs(x[i])))", (0,)),
    ("tanh(where(y[i] > 1000, inf, y[i]))", (3,)),
    ("exp(-where(y[i] > 1000, inf, y[i]))", NONE),
    ("exp(where(y[i] > 1000, -inf, y[i]) - x[i])", NONE),
    ("exp2(-where(y[i] > 1000, inf, y[i]) * (x[i] * x[i] + 1))", (3,)),
    ("where(where(y[i] > 1000, inf, y[i]) > x[i], 1, 0)", (3,)),
    ("minimum(where(y[i] > 1000, inf, y[i]), x[i])", NONE),
    ("1 / where(y[i] > 1000, inf, 1)", (3,)),
    ("x[i] / 4", NONE),
    ("exp(-inf * abs(y[i] + 1))", (0, 1, 2, 3)),
    ("x[i] / inf", (0, 1, 2, 3)),
    ("exp(where(y[i] > 1000, -inf, y[i]) * 2)", NONE),
    ("exp(where(y[i] > 1000, -inf, y[i]) / 2)", NONE),
]
ROWS = [
    ("sum(a[m, n] / b[m], n)", (1,)),
    ("tanh(sum(a[m, n], n) / b[m])", (1,)),
    ("exp(-sum(a[m, n] * a[m, n], n) / (b[m] * b[m]))", (1,)),
    ("max(where(n < 2, a[m, n], -inf), n)", NONE),
    ("sum(exp(where(n < 2, a[m, n], -inf) - max(where(j < 2, a[m, j], -inf), j)), n)", NONE),
    ("max(log(abs(a[m, n])), n)", (2,)),
]


@pytest.mark.parametrize(("text", "without"), CASES)
def test_elements(text: str, without: tuple[int, ...]) -> None:
    found = evaluate(stated(f"z[i] = {text}", {"x": X, "y": Y}), {"x": X, "y": Y}, {})
    assert tuple(np.argwhere(np.isinf(found.error)).ravel().tolist()) == without


@pytest.mark.parametrize(("text", "without"), ROWS)
def test_rows(text: str, without: tuple[int, ...]) -> None:
    a = np.array([[1.0, 2, 3], [4, 5, 6], [0, 1, 2]], np.float32)
    b = np.array([1.0, 0.0, 2.0], np.float32)
    found = evaluate(stated(f"z[m] = {text}", {"a": a, "b": b}), {"a": a, "b": b}, {})
    assert tuple(np.argwhere(np.isinf(found.error)).ravel().tolist()) == without


def test_nothing_is_compared_without_a_value() -> None:
    spec = stated("z[i] = exp(-1 / abs(y[i]))", {"y": Y})
    want = evaluate(spec, {"y": Y}, {})
    got = np.exp(-1 / np.maximum(np.abs(Y), 1e-30)).astype(np.float32)
    got[0] = np.nan
    found = compare(got, want)
    assert (found.wrong, found.finite) == (0, 2)
    got[1] = np.nan
    assert compare(got, want).first_wrong == (1,)
