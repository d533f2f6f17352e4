"""A length that is looked up and stands in a mask and as a number: `sum(where(n < LEN[m], X, 0)) / LEN[m]`."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import Report, check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

TEXT = """import argus as ag
from argus import f32, i8, i16, i32, u8

ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")
ONE = ag.Owner(lane=64, x="lane*0")


@ag.kernel(
    threads=64, requires="M >= 2 and N >= 1 and N <= 256", example=dict(M=70, N=50),
    computes="Y[m] = {computes}",
)
def rows(X: ag.In["M N", f32], LEN: ag.In["M", {dtype}], Y: ag.Out["M", f32]):
    m = ag.grid(M)
    length = ag.as_index(LEN[{row}].load(ONE, width={width}), {low}, {high}, name="length")
    x = X[m].load(ROW, width=4, guard="shape")
    s = ag.where(x.n < {limit}, x, 0.0).sum("n")
    Y[m].store({result}, width=4, guard=ag.lane() == 0)
"""
MEAN = "sum(where(n < LEN[m], X[m, n], 0), n) / LEN[m]"
USUAL = {
    "computes": MEAN, "dtype": "i32", "row": "m", "width": "4", "low": "1", "high": "N",
    "limit": "length", "result": "s / f32(length)",
}  # fmt: skip


def report(path: Path, changes: dict[str, str]) -> Report:
    file = path / "kernel.py"
    file.write_text(TEXT.format(**{**USUAL, **changes}))
    return check(scheduled(read(str(file))))


RIGHT = {
    "a mean": {},
    "of bytes": {"dtype": "u8", "width": "1", "high": "ag.min(N, 255)"},
    "of a sum that may be empty": {"low": "0"},
    "times the length": {"computes": MEAN.replace("/", "*"), "result": "s * f32(length)"},
    "less than the length": {
        "computes": MEAN.replace("/ LEN[m]", "/ (LEN[m] - 1)"), "low": "2", "result": "s / (f32(length) - 1.0)"
    },
    "the length alone": {"computes": "LEN[m]", "result": "f32(length)"},
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_the_length_is_the_number_that_was_loaded(name: str, tmp_path: Path) -> None:
    found = report(tmp_path, RIGHT[name])
    assert found.status == "proved", found.render()


WRONG = {
    "one more": {"result": "s / f32(length + 1)"},
    "another row's": {"row": "0"},
    "the row before": {"row": "ag.max(m - 1, 0)"},
    "only as a mask": {"computes": MEAN.replace("/ LEN[m]", "/ N")},
    "only as a number": {"limit": "N"},
    "one less in the mask": {"limit": "length - 1"},
    "another row's in the specification": {"computes": MEAN.replace("/ LEN[m]", "/ LEN[0]")},
    "twice": {"result": "s / f32(length) / f32(length)"},
    "its number of lanes": {"result": "s / f32(ag.min(length, 64))"},
}


@pytest.mark.parametrize("name", WRONG)
def test_another_number_is_not_the_length(name: str, tmp_path: Path) -> None:
    assert report(tmp_path, WRONG[name]).status != "proved"
