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


def test_they_are_there() -> None:
    assert len(KERNELS) >= 28
