"""Reductions over a stated range: right kernels are proved, others are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import Report, check
from argus.ir.passes.schedule import scheduled
from argus.ir.specified import restated
from argus.lang import read

HEAD = """import argus as ag
from argus import f32

ROWS = ag.Owner(lane=64, e=4, m="lane", n="e")


@ag.kernel(threads=64, requires="M % 64 == 0{more}", computes="s[m] = sum(X[m, k], k, 4)", example=dict(M=64{sizes}))
def first(X: ag.In["M {columns}", f32], s: ag.Out["M", f32]):
    m = 64 * ag.grid(M // 64)
    s[m].store(X[m].load(ROWS, width=4).{kind}("n"), width=4)
"""
FORMS = {
    "all": {"more": "", "sizes": "", "columns": "n=4"},
    "a_part": {"more": "", "sizes": "", "columns": "n=8"},
    "of_open_length": {"more": " and N >= 4", "sizes": ", N=8", "columns": "N"},
}


def judged(folder: Path, form: str, kind: str, computes: str) -> Report:
    file = folder / "first.py"
    file.write_text(HEAD.format(kind=kind, **FORMS[form]))
    return check(scheduled(restated(read(str(file)), computes)))


@pytest.mark.parametrize("form", FORMS)
def test_the_first_four_columns_are_summed(tmp_path: Path, form: str) -> None:
    report = judged(tmp_path, form, "sum", "s[m] = sum(X[m, k], k, 4)")
    assert report.status == "proved", report.render()
    assert "value" in {v.rule for v in report.verdicts}


OTHERS = [
    ("sum", "s[m] = sum(X[m, k], k, 3)"),
    ("sum", "s[m] = sum(X[m, k], k, 5)"),
    ("sum", "s[m] = sum(X[m, k + 1], k, 4)"),
    ("sum", "s[m] = sum(X[m, k] + 1, k, 4)"),
    ("sum", "s[m] = max(X[m, k], k, 4)"),
    ("max", "s[m] = sum(X[m, k], k, 4)"),
]
SAME = ("all", *OTHERS[1])
"""Beyond the fourth column there are zeros, so a sum of five is the same."""


@pytest.mark.parametrize(
    ("form", "kind", "computes"), [case for form in FORMS for other in OTHERS if (case := (form, *other)) != SAME]
)
def test_another_range_or_reduction_is_not_proved(tmp_path: Path, form: str, kind: str, computes: str) -> None:
    assert judged(tmp_path, form, kind, computes).status != "proved"


def test_a_fifth_column_that_is_not_there_is_zero(tmp_path: Path) -> None:
    assert judged(tmp_path, *SAME).status != "refuted"
