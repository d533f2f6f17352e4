"""fp8 products with block scales against float64: ragged rows, odd numbers of blocks, hostile data, proofs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from argus import ops
from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.ops.fp8 import DEPTH, ROWS, arranged, choose_fp8, steps
from argus.ops.moe_reference import BF16, FP8, ROUND, UNIT, blocks, product
from tests.kernels.running import kernel_of, run

SMALL: dict[str, Any] = {"BM": 32, "TN": 1, "WAVES": 4}
CASES = [
    pytest.param(SMALL, (5, 256, 512), id="few-rows"),
    pytest.param({**SMALL, "BM": 64, "GROUP": 0}, (70, 128, 384), id="odd-blocks"),
    pytest.param({"BM": 32, "ROOM": 2}, (70, 384, 512), id="two-waves", marks=pytest.mark.full),
    pytest.param({"BM": 128}, (200, 256, 1024), id="large"),
    pytest.param({"BM": 96, "TURN": 2, "GROUP": 1}, (96, 128, 256), id="short", marks=pytest.mark.full),
]


def operands(m: int, n: int, k: int, kind: str) -> tuple[Any, Any]:
    dice = np.random.default_rng(m + n + k)
    a, b = dice.standard_normal((m, k)), dice.standard_normal((n, k))
    if kind == "hostile":
        a *= 2.0 ** dice.integers(-40, 40, (m, 1))
        a[dice.random((m, k)) < 0.2] = -0.0
        a[0] = 0.0
        b[:, : k // 2] *= 1e-20
        b[dice.random((n, k)) < 0.1] = 1e-30
    return blocks(a, 1), blocks(b, 128)


def launched(knobs: dict[str, Any], a: Any, b: Any, checked: bool) -> Any:
    (m, k), n = a.values.shape, len(b.values)
    c = np.full((m, n), np.nan, BF16)
    arrays = {"A": a.values, "sa": a.scales, "B": arranged(b.values), "sb": b.scales, "C": c}
    sizes = {"M": m, "N": n, "K": k, "Kb": k // 128, "Nb": n // 128, "Nt": n // ROWS, "Kc": k // DEPTH}
    run(kernel_of("fp8_gemm", "fp8_matmul", {**knobs, **steps(k)}), sizes, arrays, checked=checked)
    return c.astype(np.float64)


@pytest.mark.parametrize("kind", ["hostile", pytest.param("normal", marks=pytest.mark.full)])
@pytest.mark.parametrize(("knobs", "shape"), CASES)
def test_against_float64(knobs: dict[str, Any], shape: tuple[int, int, int], kind: str) -> None:
    a, b = operands(*shape, kind)
    got = launched(knobs, a, b, checked=False)
    want, error = product(a.meaning, b.meaning)
    assert np.all(np.abs(got - want) <= error + ROUND * np.abs(want) + np.finfo(np.float32).tiny)


def test_checking_interpreter_is_silent() -> None:
    a, b = operands(33, 128, 256, "hostile")
    got = launched(SMALL, a, b, checked=True)
    want, error = product(a.meaning, b.meaning)
    assert np.all(np.abs(got - want) <= error + ROUND * np.abs(want) + np.finfo(np.float32).tiny)


def test_not_a_number_stays_in_its_row_and_column() -> None:
    a, b = operands(40, 128, 256, "normal")
    a.values[3, 7] = np.nan
    b.scales[0, 1] = np.inf
    got = launched(SMALL, a, b, checked=False)
    assert np.isnan(got[3]).all()
    assert not np.isfinite(got).any()
    b.scales[0, 1] = 1.0
    got = launched(SMALL, a, b, checked=False)
    assert np.isfinite(np.delete(got, 3, axis=0)).all()


@pytest.mark.parametrize(
    "knobs",
    [
        pytest.param(SMALL, id="small"),
        pytest.param({**SMALL, "TURN": 2, "WIDE": False, "GROUP": 0}, id="any-k"),
        pytest.param({}, id="large", marks=pytest.mark.full),
    ],
)
def test_proved(knobs: dict[str, Any]) -> None:
    report = check(scheduled(kernel_of("fp8_gemm", "fp8_matmul", knobs)))
    assert [v.rule for v in report.verdicts if v.status != "proved"] == []
    assert {"conform", "race_free", "fresh", "in_bounds", "covers", "reduced", "value"} <= {
        v.rule for v in report.verdicts
    }


def test_arranged_is_the_order_of_the_specification() -> None:
    w = np.arange(128 * 256).reshape(128, 256)
    n, k = np.meshgrid(np.arange(128), np.arange(256), indexing="ij")
    assert (arranged(w)[n // 32, k // 16, n % 32, k % 16] == w).all()


@pytest.mark.parametrize(
    ("m", "n", "k", "says"),
    [
        (4, 100, 128, "nearest is 128"),
        (4, 128, 200, "nearest is 256"),
        (0, 128, 128, "M >= 1"),
        (2**17, 2**14, 128, "split"),
    ],
)
def test_unsupported_names_the_nearest(m: int, n: int, k: int, says: str) -> None:
    with pytest.raises(ops.NoKernel, match=says):
        choose_fp8(m, n, k)


def test_wrong_operands_are_named() -> None:
    a = np.zeros((4, 128), FP8)
    scales = np.ones((4, 1), np.float32)
    with pytest.raises(ops.NoKernel, match="b is f32"):
        ops.fp8_matmul(a, scales, np.zeros((128, 128), np.float32), np.ones((1, 1), np.float32))
    with pytest.raises(ops.NoKernel, match="a_scales must be f32"):
        ops.fp8_matmul(a, scales[:2], np.zeros((128, 128), FP8), np.ones((1, 1), np.float32))


def test_the_bound_is_sharp_enough_to_see_a_lost_block() -> None:
    a, b = operands(8, 128, 512, "normal")
    want, error = product(a.meaning, b.meaning)
    lost, _ = product(a.meaning[:, :384], b.meaning[:, :384])
    assert (np.abs(lost - want) > error + ROUND * np.abs(want)).mean() > 0.9
    assert UNIT == 2.0**-24
