"""The first place of an extreme: proved for the templates, and never of a search that misses something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

PLACES = Path(__file__).parents[3] / "argus" / "kernels" / "argreduce.py"
SETTINGS = [
    ("argrow", {"CHUNKS": 1}),
    ("argrow", {"CHUNKS": 1, "OP": "min", "DTYPE": "bf16", "PLACE": "i32"}),
    ("argrow_long", {"CHUNKS": 1}),
    ("argrow_long", {"CHUNKS": 1, "OP": "min", "PLACE": "i32"}),
    ("argaxis", {}),
    ("argaxis", {"OP": "min", "DEPTH": 1, "DTYPE": "f16"}),
]


@pytest.mark.parametrize(("kernel", "settings"), SETTINGS, ids=str)
def test_places_are_proved(kernel: str, settings: dict[str, Any]) -> None:
    report = check(scheduled(read(PLACES, settings=settings, kernel=kernel)))
    assert report.proved, report.render()
    assert any(v.rule == "value" for v in report.verdicts)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x = ag.where(x.n < N, x, START)", "x = ag.where(x.n < N, x, 2.0 * START)"),  # still -inf: a right one
        ("LAST = 2**31 - 1", "LAST = SPAN"),  # beyond every place: a right one
        ("LAST = 2**31 - 1", "LAST = SPAN - 2"),  # not beyond the last
        ("x = ag.where(x.n < N, x, START)", "x = ag.where(x.n < N, x, -1000.0)"),
        ('x == extreme(x, "n")', 'x.to(bf16).to(f32) == extreme(x.to(bf16).to(f32), "n")'),
        ('x == extreme(x, "n")', 'x * 0.1 == extreme(x * 0.1, "n")'),
    ],
)
def test_what_is_not_shown_is_not_proved(old: str, new: str, tmp_path: Path) -> None:
    file = tmp_path / "argreduce.py"
    text = PLACES.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    report = check(scheduled(read(file, settings={"CHUNKS": 1}, kernel="argrow")))
    right = new in ("x = ag.where(x.n < N, x, 2.0 * START)", "LAST = SPAN")
    assert report.proved == right, report.render()
