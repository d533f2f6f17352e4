"""Small wrong kernels (`wrong/kernels`), each by one idea: none is proved."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

KERNELS = sorted((Path(__file__).parent / "wrong/kernels").glob("*.py"))


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_it_is_not_proved(path: Path) -> None:
    report = check(scheduled(read(path)))
    assert report.status != "proved", report.render()
    assert not [v.reason for v in report.verdicts if v.reason.startswith("internal:")]


def test_they_are_there() -> None:
    assert len(KERNELS) >= 28


def test_a_kernel_of_one_wave_is_not_told_of_two() -> None:
    report = check(scheduled(read(next(path for path in KERNELS if path.stem == "copy_not_waited_for"))))
    refuted = [v.counterexample for v in report.verdicts if v.status == "refuted"]
    assert [c.message for c in refuted if c is not None] == [
        "a direct copy and an ordinary access of one wave touch the same bytes of buf without a wait between them"
    ]
    assert "ag.wait(vm=0)" in report.render()
