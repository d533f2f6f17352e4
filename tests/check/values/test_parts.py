"""Sums that are formed in parts: by groups of waves that take every WK-th step of k, and as the parts of a split."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import check
from argus.ir.kernel import KnobValue
from argus.ir.passes.schedule import scheduled
from argus.lang import read

KERNELS = Path(__file__).parents[3] / "argus" / "kernels"
ADDED: dict[str, KnobValue] = {"ACT": "none", "BIAS": True}
SMALL: dict[str, KnobValue] = {"BM": 64, "BN": 64, "INST": 16, "SPLITS": 3}
RIGHT: list[tuple[str, str, dict[str, KnobValue]]] = [
    ("matmul_direct", "matmul_direct", {"WK": 4}),
    ("matmul_direct", "matmul_direct", {"WK": 2}),
    ("elementwise", "combine", {"ACT": "silu", "BIAS": True}),
    ("elementwise", "combine", {"ACT": "none", "SPLITS": 16}),
    ("matmul", "split", SMALL),
    ("matmul", "split", {**SMALL, "DEPTH": 4, "KTAIL": True, "SPLITS": 7}),
    ("matmul", "split", {**SMALL, "DEPTH": 0, "WIDTH": 4, "A_T": True, "B_T": True}),
]
WRONG: list[tuple[str, str, dict[str, KnobValue], str, str]] = [
    ("elementwise", "combine", ADDED, "range(1, SPLITS)", "range(2, SPLITS)"),
    ("elementwise", "combine", ADDED, "W[s, m, n0]", "W[0, m, n0]"),
    ("elementwise", "combine", ADDED, "total + bias[n0]", "total - bias[n0]"),
    ("elementwise", "combine", ADDED, "range(1, SPLITS)", "range(SPLITS)"),
    ("matmul", "split", SMALL, "[(s * steps, steps,", "[(s * steps + s, steps,"),
    ("matmul", "split", SMALL, "ag.cdiv(K, BK), SPLITS))", "ag.cdiv(K, BK), SPLITS)) + 1"),
    ("matmul", "split", SMALL, "W[s, bm", "W[SPLITS - 1 - s, bm"),
    ("matmul", "split", SMALL, "W[s, bm", "W[0, bm"),
    ("matmul", "split", SMALL, "where(k >= s", "where(k >= (s + 1)"),
    ("matmul", "split", SMALL, "where(k >= s", "where(k >= m"),
    ("matmul", "split", SMALL, "where(k < (s + 1)", "where(k <= (s + 1)"),
    (
        "matmul",
        "split",
        SMALL,
        "where(k >= s * {LONG}, 1, 0) * where(k < (s + 1) * {LONG}, 1, 0) * ",
        "where(s >= 0, 1, 0) * ",
    ),
]


@pytest.mark.parametrize(("file", "kernel", "knobs"), RIGHT)
def test_sums_in_parts_are_proved(file: str, kernel: str, knobs: dict[str, KnobValue]) -> None:
    report = check(scheduled(read(KERNELS / f"{file}.py", settings=knobs, kernel=kernel)))
    assert report.status == "proved", report.render()
    assert {v.rule for v in report.verdicts} >= {"value", "placed", "reduced", "covers"}


@pytest.mark.parametrize(("file", "kernel", "knobs", "old", "new"), WRONG)
def test_missing_parts_are_not_proved(
    tmp_path: Path, file: str, kernel: str, knobs: dict[str, KnobValue], old: str, new: str
) -> None:
    text = (KERNELS / f"{file}.py").read_text()
    assert old in text
    (tmp_path / "kernel.py").write_text(text.replace(old, new))
    report = check(scheduled(read(tmp_path / "kernel.py", settings=knobs, kernel=kernel)))
    assert report.status != "proved", report.render()


@pytest.mark.full
def test_a_missing_group_of_waves_is_not_proved(tmp_path: Path) -> None:
    text = (KERNELS / "matmul_direct.py").read_text()
    (tmp_path / "kernel.py").write_text(text.replace("range(1, WK)", "range(2, WK)"))
    assert "range(1, WK)" in text
    assert check(scheduled(read(tmp_path / "kernel.py", settings={"WK": 4}))).status != "proved"
