"""The matrix products against float64: layouts, ragged sizes, hostile data, and their proofs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from tests.kernels.running import KERNELS, PRODUCT, TYPES, judged, kernel_of, run

SMALL: dict[str, Any] = {"BM": 64, "BN": 64}
PIPELINED: dict[str, Any] = {**SMALL, "INST": 16, "DEPTH": 4, "STAGES": 2}

# file, kernel, knobs, (M, N, K)
CASES: list[tuple[str, str, dict[str, Any], tuple[int, int, int]]] = [
    ("matmul", "matmul", {**SMALL}, (70, 68, 192)),
    ("matmul", "matmul", {**SMALL, "A_T": True, "KTAIL": True}, (72, 68, 104)),
    ("matmul", "matmul", {**SMALL, "B_T": True, "INST": 16}, (66, 72, 64)),
    ("matmul", "matmul", {**SMALL, "A_T": True, "B_T": True, "KTAIL": True, "XM": 2, "DTYPE": "f16"}, (104, 72, 40)),
    ("matmul", "matmul", {**SMALL, "KTAIL": True, "WIDTH": 2, "INST": 16}, (33, 35, 37)),
    ("matmul", "matmul", {**PIPELINED, "KTAIL": True}, (64, 64, 328)),
    ("matmul", "linear", {**SMALL, "ACT": "silu", "DTYPE": "f16"}, (65, 68, 128)),
    ("matmul", "linear", {**SMALL, "ACT": "relu"}, (65, 68, 64)),
    ("matmul_narrow", "matmul_narrow", {**SMALL, "STORE": 4, "XM": 2}, (70, 70, 192)),
    ("matmul_narrow", "matmul_narrow", {**PIPELINED, "STORE": 2, "KTAIL": True, "DTYPE": "f16"}, (33, 35, 328)),
    ("matmul_narrow", "linear_narrow", {**SMALL, "ACT": "silu", "STORE": 2, "A_T": True}, (72, 69, 128)),
    ("matmul", "split", {**PIPELINED, "SPLITS": 3, "KTAIL": True}, (17, 64, 488)),
    ("matmul_direct", "matmul_direct", {"KTAIL": True, "XM": 2}, (66, 68, 520)),
    ("matmul_direct", "matmul_direct", {"BM": 16, "BN": 64, "DEPTH": 2}, (5, 72, 512)),
    ("matmul_direct", "matmul_direct", {"WK": 2, "WM": 2, "TOGETHER": True, "XM": 2}, (66, 68, 384)),
    ("matmul_direct", "matmul_direct", {"WK": 1, "WM": 2, "WN": 2, "TOGETHER": True, "DEPTH": 3}, (60, 68, 320)),
    ("matmul", "matmul", {**SMALL, "STAGGER": 2, "XM": 2}, (70, 132, 320)),
    ("matmul", "matmul", {**SMALL, "STAGGER": 4, "DEPTH": 2, "INST": 16}, (70, 132, 320)),
    ("matmul_direct", "matmul_direct", {"BM": 16, "BN": 32, "KTAIL": True, "WIDTH": 2, "DTYPE": "f16"}, (3, 35, 77)),
    ("matmul_direct", "matmul_direct", {"BM": 16, "BN": 16, "DEPTH": 4, "STORE": 4, "KTAIL": True}, (35, 6, 776)),
    ("matmul_direct", "matmul_direct", {"WK": 2, "WM": 2, "STORE": 2, "BAND": 1}, (70, 135, 320)),
    ("matmul_direct", "matmul_direct", {"BM": 96, "BN": 96, "WK": 2, "WM": 2, "BAND": 2, "STORE": 4}, (190, 98, 192)),
    ("matmul_direct", "matmul_direct", {"BM": 32, "BN": 96, "WK": 4, "KTAIL": True, "WIDTH": 8}, (35, 100, 300)),
    ("matmul_direct", "split_direct", {"BM": 32, "BN": 32, "SPLITS": 3, "KTAIL": True, "STORE": 2}, (33, 37, 1736)),
    ("matmul_direct", "split_direct", {"WK": 1, "WM": 2, "SPLITS": 16, "DTYPE": "f16"}, (33, 68, 640)),
]


CHECKED = (CASES[2], CASES[7], CASES[10])  # under the checking interpreter by default; all of them in the full run


def operands(knobs: dict[str, Any], m: int, n: int, k: int, kind: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(hash((m, n, k)) % 2**32)
    dtype = TYPES[knobs.get("DTYPE", "bf16")]
    a, b = rng.standard_normal((m, k)), rng.standard_normal((n, k))
    if kind == "hostile":
        a *= 2.0 ** rng.integers(-4, 5, (m, k))
        a[rng.random((m, k)) < 0.2] = -0.0
        b[rng.random((n, k)) < 0.1] = 6e-8  # subnormal in f16, tiny in bf16
    return a.astype(dtype), b.astype(dtype)


def stated(kernel: str, knobs: dict[str, Any]) -> str:
    """What is computed of A [M, K] and B [N, K], however they are stored; the parts of a split product together."""
    if not kernel.startswith("linear"):
        return PRODUCT
    x = "(sum(A[m, k] * B[n, k], k) + bias[n])"
    return "C[m, n] = " + {"relu": f"maximum({x}, 0)", "silu": f"{x} / (1 + exp(-{x}))"}[knobs["ACT"]]


RUNS = [
    pytest.param(case, kind, id=f"{kind}-{case[1]}-{'x'.join(map(str, case[3]))}", marks=marks)
    for kind, marks in (("hostile", ()), ("normal", (pytest.mark.full,)))
    for case in CASES
]


@pytest.mark.parametrize(("case", "kind"), RUNS)
def test_against_float64(case: tuple[str, str, dict[str, Any], tuple[int, int, int]], kind: str) -> None:
    file, name, knobs, (m, n, k) = case
    a, b = operands(knobs, m, n, k, kind)
    bias = np.linspace(-2, 2, n).astype(a.dtype)
    arrays: dict[str, Any] = {
        "A": np.ascontiguousarray(a.T) if knobs.get("A_T") else a,
        "B": np.ascontiguousarray(b.T) if knobs.get("B_T") else b,
        "C": np.full((m, n), np.nan, a.dtype),
        "bias": bias,
    }
    split = name in ("split", "split_direct")
    if split:
        arrays["W"] = np.full((knobs["SPLITS"], m, n), np.nan, np.float32)
    checked = kind == "normal" or case in CHECKED
    run(kernel_of(file, name, knobs), {"M": m, "N": n, "K": k}, arrays, checked=checked)
    got = arrays["W"].astype(np.float64).sum(0).astype(np.float32) if split else arrays["C"]
    found = judged(got, stated(name, knobs), {"A": a, "B": b, "bias": bias})
    assert found.ok, found


def test_not_a_number_and_infinity_stay_in_their_row_and_column() -> None:
    m, n, k = 64, 64, 64
    a, b = operands(SMALL, m, n, k, "normal")
    a[3, 5], a[7, 9] = np.nan, np.inf
    c = np.zeros((m, n), a.dtype)
    run(kernel_of("matmul", "matmul", SMALL), {"M": m, "N": n, "K": k}, {"A": a, "B": b, "C": c}, checked=False)
    got = c.astype(np.float64)
    assert np.isnan(got[3]).all()
    assert np.isinf(got[7]).all()
    assert np.isfinite(np.delete(got, (3, 7), axis=0)).all()


@pytest.mark.parametrize(
    ("file", "name", "knobs"),
    [
        pytest.param("matmul", "matmul", {**SMALL, "XM": 4, "GROUP": 2}, id="map"),
        pytest.param("matmul", "linear", {**SMALL, "ACT": "gelu"}, id="linear"),
        pytest.param("matmul_direct", "matmul_direct", {"BM": 16, "BN": 32, "WK": 2}, id="direct"),
        pytest.param("matmul_direct", "matmul_direct", {"WK": 1, "WM": 2, "WN": 2, "TOGETHER": True}, id="together"),
        pytest.param("matmul_direct", "matmul_direct", {"WK": 4, "BM": 16}, id="four", marks=pytest.mark.full),
        pytest.param("matmul_direct", "matmul_direct", {"WK": 2, "BN": 96, "BAND": 3, "STORE": 4}, id="bands"),
        pytest.param("matmul_direct", "split_direct", {"BM": 32, "BN": 32, "STORE": 2}, id="split-direct"),
        pytest.param("matmul", "matmul", {**SMALL, "A_T": True}, id="by-k", marks=pytest.mark.full),
        pytest.param("matmul", "split", {**SMALL, "INST": 16}, id="split"),
        pytest.param("matmul_narrow", "matmul_narrow", {**SMALL, "STORE": 2}, id="narrow"),
        pytest.param("matmul_narrow", "linear_narrow", {**SMALL, "ACT": "relu"}, id="narrow-linear"),
        pytest.param("matmul", "matmul", {}, id="large", marks=pytest.mark.full),
    ],
)
def test_proved(file: str, name: str, knobs: dict[str, Any]) -> None:
    report = check(scheduled(kernel_of(file, name, knobs)))
    assert [v.rule for v in report.verdicts if v.status != "proved"] == []
    staged = {"race_free", "fresh"} if knobs.get("WK") != 1 else {"value", "reduced"}  # one group: no LDS, specified
    assert {"conform", "in_bounds", "covers"} | staged <= {v.rule for v in report.verdicts}


@pytest.mark.full
def test_a_map_of_workgroups_that_repeats_a_column_is_not_proved() -> None:
    text = (KERNELS / "matmul.py").read_text(encoding="utf-8")
    wrong = text.replace("y * (8 // XM) + x % (8 // XM)", "y * (8 // XM) + x % (8 // XM) // 2")
    assert wrong != text
    report = check(scheduled(read(wrong, settings={**SMALL, "XM": 2}, kernel="matmul")))
    assert [v.status for v in report.verdicts if v.rule == "covers"] == ["refuted"]


@pytest.mark.parametrize(("first", "status"), [("s * steps", "proved"), ("s * steps + s", "unknown")])
def test_parts_of_k_join(first: str, status: str) -> None:
    text = (KERNELS / "matmul.py").read_text(encoding="utf-8").replace("[(s * steps, steps,", f"[({first}, steps,")
    text += "    ag.check.reduced(acc, K=(BK * steps * s, BK * steps * (s + 1)))\n"
    report = check(scheduled(read(text, settings={**SMALL, "INST": 16, "SPLITS": 2}, kernel="split")))
    last = len(text.splitlines())
    assert [v.status for v in report.verdicts if v.rule == "reduced" and v.span.line == last] == [status]
