"""Products that write statistics of their rows: what is stated is proved, and a kernel that is not right is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.check import check
from argus.pipeline import program_of
from bench.templates.row_statistics import counted

KERNELS = Path("argus/kernels")
NARROW = {"BM": 64, "BN": 64, "WN": 1}


def claims(source: str, folder: Path, kernel: str, knobs: dict[str, int]) -> dict[str, set[str]]:
    """Rules that are not proved of a kernel of this source, by status."""
    path = folder / "k.py"
    path.write_text(source)
    found = check(program_of(path, {**knobs}, kernel)).verdicts
    return {status: {v.rule for v in found if v.status == status} for status in ("refuted", "unknown")}


@pytest.mark.parametrize("kernel", ["product_sums", "product_moments", "product_softmax"])
def test_as_it_is(kernel: str, tmp_path: Path) -> None:
    found = claims((KERNELS / "gemm_f32_rows.py").read_text(), tmp_path, kernel, NARROW)
    assert found == {"refuted": set(), "unknown": set()}


@pytest.mark.parametrize(
    ("kernel", "right", "wrong"),
    [
        pytest.param("product_sums", "lambda x: x * x", "lambda x: x", id="sum-for-squares"),
        pytest.param("product_sums", "(tiles, ACC, 32, n0, N,", "(tiles, ACC, 32, n0, N - 1,", id="last-column"),
        pytest.param("product_sums", "(tiles, ACC, 32, n0, N,", "(tiles[1:], ACC, 32, n0, N,", id="first-tile"),
        pytest.param("product_sums", "bn * WN + wn", "bn * WN + wn + 1", id="beside-its-place"),
        pytest.param("product_moments", "middle = sums / columns", "middle = sums / SPAN", id="whole-tiles-only"),
        pytest.param("product_softmax", "(x - top) * LOG2E", "x * LOG2E", id="no-maximum"),
        pytest.param("product_softmax", "(tiles, ACC, 32, n0, N)", "(tiles, ACC, 32, n0, N + 1)", id="padding"),
    ],
)
def test_wrong_statistics_are_not_proved(kernel: str, right: str, wrong: str, tmp_path: Path) -> None:
    source = (KERNELS / "gemm_f32_rows.py").read_text()
    assert right in source
    chain = {**NARROW, "S0": "shift"}  # columns behind N are not zero
    found = claims(source.replace(right, wrong), tmp_path, kernel, chain)
    assert {"value", "covers", "placed", "reduced"} & (found["refuted"] | found["unknown"])


@pytest.mark.parametrize("columns", [1, 63, 64, 65, 200])
def test_counts_add_up(columns: int) -> None:
    arrays = {"C": np.zeros((3, columns), np.float32), "count": np.zeros(-(-columns // 64), np.float32)}
    counted(arrays)
    assert arrays["count"].sum() == columns
    assert (arrays["count"][:-1] == 64).all()
