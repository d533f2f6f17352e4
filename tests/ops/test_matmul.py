"""`ops.matmul` with everything it takes: bias, activations, operands stored by k, f16, and K in parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus import ops
from argus.ops import choice
from argus.ops.choice import able_at, choose_matmul
from argus.spec import evaluate
from argus.spec.compare import compare
from tests.spec.stated import stated

BF16, F16 = ml_dtypes.bfloat16, np.float16
TILE = {"BM": 64, "BN": 64, "WM": 2, "WN": 2, "INST": 16, "DEPTH": 1, "STAGES": 1, "XM": 0, "GROUP": 1}
ROWS: dict[str, Mapping[str, Any]] = {
    "whole": {"M": 64, "N": 64, "K": 64, "kernel": "matmul", "knobs": TILE, "us": 50.0},
    "split": {"M": 64, "N": 64, "K": 64, "kernel": "split", "knobs": {**TILE, "SPLITS": 3}, "us": 20.0},
}
X = "(sum(A[m, k] * B[n, k], k) + bias[n])"
MEANS = {
    "none": X,
    "relu": f"maximum({X}, 0)",
    "silu": f"{X} / (1 + exp(-{X}))",
    "gelu": f"{X} / (1 + exp(-1.5957691216057308 * ({X} + 0.044715 * {X} * {X} * {X})))",
}

# row of the table, element type, bias, activation, a_by_k, b_by_k, (M, N, K)
FORMS: list[tuple[str, Any, bool, str, bool, bool, tuple[int, int, int]]] = [
    ("whole", BF16, True, "none", False, False, (70, 40, 128)),
    ("whole", F16, True, "relu", True, False, (72, 40, 104)),
    ("whole", BF16, False, "silu", False, True, (5, 24, 64)),
    ("whole", BF16, True, "gelu", True, True, (8, 72, 90)),
    ("split", BF16, True, "gelu", False, True, (5, 72, 328)),
    ("split", F16, False, "none", False, False, (17, 20, 200)),
    ("split", BF16, False, "relu", True, False, (8, 36, 640)),
]
EVERY = [
    (row, dtype, bias, act, a, b, (24, 40, 232))
    for row in ROWS
    for dtype, bias, act, a, b in (
        (BF16, True, "relu", False, False),
        (F16, True, "silu", False, False),
        (BF16, False, "none", True, False),
        (F16, False, "none", False, True),
        (BF16, False, "gelu", True, True),
    )
]


@pytest.mark.parametrize("form", [*FORMS, *(pytest.param(form, marks=pytest.mark.full) for form in EVERY)], ids=str)
def test_each_form(
    form: tuple[str, Any, bool, str, bool, bool, tuple[int, int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    row, dtype, biased, activation, a_by_k, b_by_k, (m, n, k) = form
    monkeypatch.setattr(choice, "fastest", lambda *_: ROWS[row])
    dice = np.random.default_rng(m + n + k)
    a, b = (dice.standard_normal((rows, k)).astype(dtype) for rows in (m, n))
    bias = dice.standard_normal(n).astype(dtype) if biased else np.zeros(n, dtype)
    got = ops.matmul(
        np.ascontiguousarray(a.T) if a_by_k else a,
        np.ascontiguousarray(b.T) if b_by_k else b,
        bias=bias if biased else None,
        activation=activation,
        a_by_k=a_by_k,
        b_by_k=b_by_k,
        device="jit",
    )
    assert got.dtype == dtype
    given = {"A": a, "B": b, "bias": bias}
    found = compare(got, evaluate(stated(f"C[m, n] = {MEANS[activation]}", given), given, {}))
    assert found.ok, found


def test_a_product_of_few_rows_stored_by_k_is_split() -> None:
    chosen = choose_matmul(16, 8192, 8192, "bf16", b_by_k=True, bias=True, activation="gelu")
    assert chosen.kernel == "split"
    assert chosen.then is not None
    assert (chosen.then.kernel, chosen.then.knobs["ACT"], chosen.then.knobs["BIAS"]) == ("combine", "gelu", True)


def test_parts_that_do_not_fit_are_not_made() -> None:
    whole, split = ROWS.values()
    assert able_at(split, 64, 1 << 20, 64)
    assert not able_at(split, 64, 1 << 22, 64)
    assert able_at(whole, 64, 1 << 22, 64)


@pytest.mark.parametrize("row", ROWS)
def test_relu_keeps_what_is_no_number(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "fastest", lambda *_: ROWS[row])
    a, b = np.ones((24, 232), BF16), np.ones((40, 232), BF16)
    a[3, 5], a[4, 6], a[5, 7] = np.nan, np.inf, -np.inf
    got = ops.matmul(a, b, bias=np.zeros(40, BF16), activation="relu", device="jit").astype(float)
    assert np.isnan(got[3]).all()
    assert (got[4] == np.inf).all()
    assert (got[5] == 0).all()
    assert np.isfinite(np.delete(got, (3, 4), axis=0)).all()
