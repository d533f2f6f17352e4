"""An element that is looked up in a row which is reduced as well: cross entropy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

CROSS_ENTROPY = Path(__file__).parents[3] / "argus" / "kernels" / "cross_entropy.py"
SMALL = {"DTYPE": "f32", "CHUNKS": 1, "WIDTH": 4}
SETTINGS = [
    ("cross_entropy", SMALL),
    ("cross_entropy", {"DTYPE": "bf16", "WAVES": 2, "CHUNKS": 1, "INDEX": "i32"}),
    ("cross_entropy", {"DTYPE": "f32", "EXACT": True, "CHUNKS": 1}),
    ("cross_entropy_long", SMALL),
    ("cross_entropy_long", {**SMALL, "WAVES": 2, "INDEX": "i32"}),
]


@pytest.mark.parametrize(("kernel", "settings"), SETTINGS, ids=str)
def test_cross_entropy_is_proved(kernel: str, settings: dict[str, Any]) -> None:
    report = check(scheduled(read(CROSS_ENTROPY, settings=settings, kernel=kernel)))
    assert report.proved, report.render()
    assert {"value", "placed", "covers"} <= {v.rule for v in report.verdicts}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("width=BYTES), 0, N - 1,", "width=BYTES), 0, N,"),  # one class too many: its element is in the next row
        ("width=BYTES), 0, N - 1,", "width=BYTES), -1, N - 1,"),
        ("X[row, target].load", "X[row, N - 1 - target].load"),
        ('"P[m] = {TOP} + log', '"P[m] = {TOP} + 2 * log'),
        ("- X[m, Y[m]]", "- X[m, Y[m] + 1]"),
        ("- X[m, Y[m]]", "- X[m, 0]"),
        ("- X[m, Y[m]]", "- X[m, m]"),
    ],
)
def test_what_is_not_shown_is_not_proved(old: str, new: str, tmp_path: Path) -> None:
    file = tmp_path / "cross_entropy.py"
    text = CROSS_ENTROPY.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    assert not check(scheduled(read(file, settings=SMALL, kernel="cross_entropy"))).proved
