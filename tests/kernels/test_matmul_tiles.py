"""Products with tiles that fill the chip: against float64, proved, the tiles of large squares without spills."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from argus.check import check
from argus.compile.cache import compile_cached
from argus.ir.passes.schedule import scheduled
from tests.kernels.running import judged, kernel_of, run
from tests.kernels.test_matmul import operands, stated

SMALL: dict[str, Any] = {"BM": 64, "BN": 96, "INST": 16}
BY_SQUARE: dict[int, dict[str, Any]] = {
    2304: {"BM": 192, "BN": 96, "INST": 16, "XM": 4},
    2560: {"BM": 128, "BN": 192, "INST": 16, "XM": 4},
    2816: {"BM": 128, "BN": 224, "INST": 16, "BAND": 2},
    3072: {"BM": 128, "BN": 256, "INST": 16, "XM": 8},
    3328: {"BM": 256, "BN": 160, "INST": 16, "BAND": 1},
    3584: {"BM": 192, "BN": 224, "INST": 16, "XM": 1},
    3840: {"BM": 256, "BN": 192, "INST": 16, "BAND": 5},
    4096: {"BM": 256, "BN": 224, "INST": 16, "XM": 8},
}

# kernel, knobs, (M, N, K)
CASES: list[tuple[str, dict[str, Any], tuple[int, int, int]]] = [
    ("matmul_tiles", SMALL, (70, 100, 192)),
    ("matmul_tiles", {**SMALL, "KTAIL": True, "BAND": 2}, (200, 196, 72)),
    ("matmul_tiles", {**SMALL, "A_T": True, "XM": 2}, (136, 100, 128)),
    ("matmul_tiles", {**SMALL, "B_T": True, "KTAIL": True, "DTYPE": "f16"}, (66, 104, 136)),
    ("matmul_tiles", {"BM": 96, "BN": 64, "INST": 16, "A_T": True, "B_T": True, "BAND": 1}, (104, 72, 256)),
    ("matmul_tiles", {"BM": 64, "BN": 128, "INST": 32, "KTAIL": True, "WIDTH": 2}, (65, 131, 75)),
    ("matmul_tiles", {"BM": 96, "BN": 96, "INST": 16, "READ": 0, "WRITE": 0}, (97, 100, 320)),
    ("matmul_tiles", {"BM": 64, "BN": 64, "INST": 16, "WM": 1, "WN": 4}, (65, 68, 64)),
    ("linear_tiles", {**SMALL, "ACT": "silu", "DTYPE": "f16"}, (65, 100, 128)),
    ("linear_tiles", {**SMALL, "ACT": "relu", "B_T": True}, (65, 104, 64)),
    ("matmul_tiles", {"BM": 256, "BN": 224, "INST": 16, "KTAIL": True, "BAND": 1}, (257, 228, 136)),
    ("matmul_tiles", {"BM": 192, "BN": 288, "INST": 16}, (190, 292, 128)),
    ("matmul_tiles", {**SMALL, "STORE": 4, "KTAIL": True}, (70, 98, 136)),
    ("matmul_tiles", {**SMALL, "STORE": 2, "A_T": True}, (136, 35, 128)),
    ("linear_tiles", {**SMALL, "ACT": "silu", "STORE": 4}, (65, 102, 128)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{'x'.join(map(str, case[2]))}")
def test_against_float64(case: tuple[str, dict[str, Any], tuple[int, int, int]]) -> None:
    name, knobs, (m, n, k) = case
    a, b = operands(knobs, m, n, k, "hostile")
    bias = np.linspace(-2, 2, n).astype(a.dtype)
    arrays: dict[str, Any] = {
        "A": np.ascontiguousarray(a.T) if knobs.get("A_T") else a,
        "B": np.ascontiguousarray(b.T) if knobs.get("B_T") else b,
        "C": np.full((m, n), np.nan, a.dtype),
        "bias": bias,
    }
    run(kernel_of("matmul_tiles", name, knobs), {"M": m, "N": n, "K": k}, arrays, checked=m == 70)
    found = judged(
        arrays["C"], stated("linear" if bool(knobs.get("ACT")) else name, knobs), {"A": a, "B": b, "bias": bias}
    )
    assert found.ok, found


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        pytest.param("matmul_tiles", {**SMALL, "XM": 2, "GROUP": 2}, id="map"),
        pytest.param("matmul_tiles", {**SMALL, "BAND": 3, "KTAIL": True, "B_T": True}, id="bands"),
        pytest.param("linear_tiles", {**SMALL, "ACT": "gelu"}, id="linear"),
        pytest.param("matmul_tiles", {**SMALL, "STORE": 4, "KTAIL": True, "A_T": True}, id="narrow"),
        pytest.param("matmul_tiles", {**SMALL, "DTYPE": "fp8"}, id="fp8"),
        pytest.param("matmul_tiles", BY_SQUARE[4096], id="4096"),
        pytest.param("matmul_tiles", {**BY_SQUARE[4096], "A_T": True}, id="by-k", marks=pytest.mark.full),
        *(
            pytest.param("matmul_tiles", knobs, id=str(size), marks=pytest.mark.full)
            for size, knobs in BY_SQUARE.items()
            if size != 4096
        ),
    ],
)
def test_proved(name: str, knobs: dict[str, Any]) -> None:
    report = check(scheduled(kernel_of("matmul_tiles", name, knobs)))
    assert [v.rule for v in report.verdicts if v.status != "proved"] == []
    assert {"conform", "in_bounds", "covers", "race_free", "fresh", "value"} <= {v.rule for v in report.verdicts}


@pytest.mark.parametrize("size", [2304, 4096, *(pytest.param(s, marks=pytest.mark.full) for s in (2816, 3328, 3840))])
def test_tiles_of_squares_fill_the_chip_and_fit(size: int) -> None:
    knobs = BY_SQUARE[size]
    tiles = -(-size // knobs["BM"]) * -(-size // knobs["BN"])
    assert 270 <= tiles <= 304  # compute units
    made = compile_cached(scheduled(kernel_of("matmul_tiles", "matmul_tiles", knobs)))
    assert made.object  # the audit refuses spills, and accumulators moved in the loop
