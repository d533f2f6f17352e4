"""fp8 without scales, to bf16: both templates against float64 at ragged sizes, their proofs, and the dispatcher."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus import ops
from argus.bench.contestant import compiled
from argus.check import check
from argus.compile.cache import compile_cached
from argus.ir.passes.schedule import scheduled
from argus.ops.choice import NoKernel, choose_matmul
from tests.kernels.running import PRODUCT, judged, kernel_of, run

FP8, BF16 = ml_dtypes.float8_e4m3fnuz, ml_dtypes.bfloat16
TYPE: dict[str, Any] = {"DTYPE": "fp8"}
SMALL: dict[str, Any] = {**TYPE, "BM": 64, "BN": 64}
PIPELINED: dict[str, Any] = {**SMALL, "INST": 16, "DEPTH": 4, "STAGES": 2}
SILU = "C[m, n] = (sum(A[m, k] * B[n, k], k) + bias[n]) / (1 + exp(-(sum(A[m, k] * B[n, k], k) + bias[n])))"

# file, kernel, knobs, (M, N, K)
CASES: list[tuple[str, str, dict[str, Any], tuple[int, int, int]]] = [
    ("matmul", "matmul", SMALL, (70, 68, 384)),
    ("matmul", "matmul", {**SMALL, "INST": 16, "KTAIL": True, "WIDTH": 2}, (33, 35, 74)),
    ("matmul", "matmul", {**PIPELINED, "KTAIL": True}, (64, 64, 656)),
    ("matmul", "matmul", {**SMALL, "STAGGER": 2, "XM": 2}, (70, 132, 640)),
    ("matmul", "linear", {**SMALL, "ACT": "silu"}, (65, 68, 256)),
    ("matmul", "split", {**PIPELINED, "SPLITS": 3, "KTAIL": True}, (17, 64, 976)),
    ("matmul_direct", "matmul_direct", {**TYPE, "KTAIL": True, "XM": 2}, (66, 68, 1040)),
    ("matmul_direct", "matmul_direct", {**TYPE, "BM": 16, "BN": 32, "KTAIL": True, "WIDTH": 2}, (3, 35, 154)),
    ("matmul_direct", "matmul_direct", {**TYPE, "WK": 2, "WM": 2, "TOGETHER": True, "XM": 2}, (66, 68, 768)),
    ("matmul_direct", "matmul_direct", {**TYPE, "WK": 1, "WM": 2, "WN": 2, "INST": 32}, (60, 68, 640)),
    (
        "matmul_tiles",
        "matmul_tiles",
        {**TYPE, "BM": 96, "BN": 64, "INST": 16, "KTAIL": True, "STORE": 4},
        (97, 66, 400),
    ),
    ("matmul_narrow", "matmul_narrow", {**SMALL, "STORE": 2, "KTAIL": True}, (70, 67, 400)),
]
CHECKED = (CASES[1], CASES[7])  # under the checking interpreter by default; all of them in the full run


def operands(m: int, n: int, k: int, kind: str) -> tuple[Any, Any]:
    dice = np.random.default_rng(m + n + k)
    a, b = dice.standard_normal((m, k)), dice.standard_normal((n, k))
    if kind == "hostile":
        a *= 2.0 ** dice.integers(-4, 5, (m, k))
        b[dice.random((n, k)) < 0.1] = 2.0**-10  # the least number of fp8, subnormal
    return a.astype(FP8), b.astype(FP8)


@pytest.mark.parametrize("kind", ["hostile", pytest.param("normal", marks=pytest.mark.full)])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[1]}-{'x'.join(map(str, case[3]))}")
def test_against_float64(case: tuple[str, str, dict[str, Any], tuple[int, int, int]], kind: str) -> None:
    file, name, knobs, (m, n, k) = case
    a, b = operands(m, n, k, kind)
    bias = np.linspace(-2, 2, n).astype(BF16)
    arrays: dict[str, Any] = {"A": a, "B": b, "C": np.full((m, n), np.nan, BF16), "bias": bias}
    if name == "split":
        arrays["W"] = np.full((knobs["SPLITS"], m, n), np.nan, np.float32)
    run(kernel_of(file, name, knobs), {"M": m, "N": n, "K": k}, arrays, checked=kind == "normal" or case in CHECKED)
    got = arrays["W"].astype(np.float64).sum(0).astype(np.float32) if name == "split" else arrays["C"]
    found = judged(got, SILU if name == "linear" else PRODUCT, {"A": a, "B": b, "bias": bias})
    assert found.ok, found


@pytest.mark.parametrize(
    ("file", "name", "knobs"),
    [
        pytest.param("matmul", "matmul", SMALL, id="staged"),
        pytest.param("matmul", "matmul", {**PIPELINED, "KTAIL": True, "WIDTH": 2}, id="two-stages"),
        pytest.param("matmul", "split", {**SMALL, "INST": 16}, id="split"),
        pytest.param("matmul_direct", "matmul_direct", {**TYPE, "BM": 16}, id="direct"),
        pytest.param("matmul", "linear", {**SMALL, "ACT": "gelu"}, id="linear", marks=pytest.mark.full),
        pytest.param("matmul", "matmul", TYPE, id="large", marks=pytest.mark.full),
    ],
)
def test_proved_without_spills(file: str, name: str, knobs: dict[str, Any]) -> None:
    program = scheduled(kernel_of(file, name, knobs))
    verdicts = check(program).verdicts
    assert [v.rule for v in verdicts if v.status != "proved"] == []
    assert {"value", "reduced", "covers", "placed"} <= {v.rule for v in verdicts}
    assert compile_cached(program).object, "a spill is refused (C301)"


@pytest.mark.parametrize("sizes", [(70, 72, 400), (5, 33, 130), (3, 64, 2048)], ids=str)
def test_the_dispatcher_serves_what_it_takes(sizes: tuple[int, int, int]) -> None:
    a, b = operands(*sizes, "normal")
    got = ops.matmul(a, b, device="jit")
    assert got.dtype == BF16
    found = judged(got, PRODUCT, {"A": a, "B": b})
    assert found.ok, found


def test_without_products_the_result_is_bf16() -> None:
    assert ops.matmul(np.zeros((3, 0), FP8), np.zeros((8, 0), FP8)).dtype == BF16


def test_a_product_is_chosen_like_a_two_byte_one_of_half_the_k() -> None:
    for m, n, k in ((1024, 1024, 2048), (16, 8192, 4096), (4096, 4096, 8192)):
        choice, alike = choose_matmul(m, n, k, "fp8"), choose_matmul(m, n, k // 2, "bf16")
        assert choice.kernel == alike.kernel
        assert {**choice.knobs, "DTYPE": "bf16"} == alike.knobs
        assert compiled(choice).code


def test_what_fp8_has_no_kernel_for_is_said() -> None:
    for words in ({"a_by_k": True}, {"b_by_k": True}):
        with pytest.raises(NoKernel, match="even K"):
            choose_matmul(64, 64, 64, "fp8", **words)
    for k in (63, 2**31 - 2):
        with pytest.raises(NoKernel, match="even K"):
            choose_matmul(1, 1, k, "fp8")
    with pytest.raises(NoKernel, match="one element type"):
        ops.matmul(np.zeros((4, 4), FP8), np.zeros((4, 4), BF16))
