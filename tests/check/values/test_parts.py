"""Sums that are formed in parts: by groups of waves that take every WK-th step of k, and from the parts of a split."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import check
from argus.ir.kernel import KnobValue
from argus.lang import read

KERNELS = Path(__file__).parents[3] / "argus" / "kernels"
RIGHT: list[tuple[str, str, dict[str, KnobValue]]] = [
    ("matmul_direct", "matmul_direct", {"WK": 4}),
    ("matmul_direct", "matmul_direct", {"WK": 2}),
    ("elementwise", "combine", {"ACT": "silu", "BIAS": True}),
    ("elementwise", "combine", {"ACT": "none", "SPLITS": 16}),
]
WRONG: list[tuple[str, str, str, str]] = [
    ("elementwise", "combine", "range(1, SPLITS)", "range(2, SPLITS)"),
    ("elementwise", "combine", "W[s, m, n0]", "W[0, m, n0]"),
    ("elementwise", "combine", "total + bias[n0]", "total - bias[n0]"),
    ("elementwise", "combine", "range(1, SPLITS)", "range(SPLITS)"),
]


@pytest.mark.parametrize(("file", "kernel", "knobs"), RIGHT)
def test_sums_in_parts_are_proved(file: str, kernel: str, knobs: dict[str, KnobValue]) -> None:
    report = check(read(KERNELS / f"{file}.py", settings=knobs, kernel=kernel))
    assert report.status == "proved", report.render()
    assert {v.rule for v in report.verdicts} >= {"value", "placed", "reduced", "covers"}


@pytest.mark.parametrize(("file", "kernel", "old", "new"), WRONG)
def test_missing_parts_are_not_proved(tmp_path: Path, file: str, kernel: str, old: str, new: str) -> None:
    text = (KERNELS / f"{file}.py").read_text()
    assert old in text
    (tmp_path / "kernel.py").write_text(text.replace(old, new))
    report = check(read(tmp_path / "kernel.py", settings={"ACT": "none", "BIAS": True}, kernel=kernel))
    assert report.status != "proved", report.render()


@pytest.mark.full
def test_a_missing_group_of_waves_is_not_proved(tmp_path: Path) -> None:
    text = (KERNELS / "matmul_direct.py").read_text()
    (tmp_path / "kernel.py").write_text(text.replace("range(1, WK)", "range(2, WK)"))
    assert "range(1, WK)" in text
    assert check(read(tmp_path / "kernel.py", settings={"WK": 4})).status != "proved"
