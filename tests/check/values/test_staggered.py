"""The staggered matrix product: two walks over K, from the XCD's own start to the end and then up to the start, whose
sums are one. The library's kernel is proved with its specification; walks that do not fit together never are.

No launch is searched for: it is enough that nothing wrong is proved.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

FILE = Path(__file__).parents[3] / "argus" / "kernels" / "matmul.py"
SMALL = {"STAGGER": 1, "BM": 64, "BN": 64, "WM": 1, "WN": 1}
SPANS = "return [(start, whole_turns(last - start), last), (0, whole_turns(start), start)]"

WRONG: dict[str, tuple[str, str]] = {
    "the second walk one short": (SPANS, SPANS.replace("whole_turns(start), start)", "whole_turns(start - 1), start)")),
    "they overlap": (SPANS, SPANS.replace("whole_turns(start), start)", "whole_turns(start + 1), start + 1)")),
}
WRONG_TOO: dict[str, tuple[str, str]] = {
    "the first starts one late": (SPANS, SPANS.replace("(start, whole", "(start + 1, whole")),
    "the first starts one early": (SPANS, SPANS.replace("(start, whole", "(start - 1, whole")),
    "the first ends one early": (SPANS, SPANS.replace("last - start), last", "last - start - 1), last")),
    "the first is cut off one early": (SPANS, SPANS.replace("last - start), last)", "last - start), last - 1)")),
    "the second starts at one": (SPANS, SPANS.replace("(0, whole", "(1, whole")),
    "the second is cut off one early": (SPANS, SPANS.replace("start), start)", "start), start - 1)")),
    "both start at the start": (SPANS, SPANS.replace("(0, whole", "(start, whole")),
    "the same walk twice": (
        SPANS,
        SPANS.replace("(0, whole_turns(start), start)", "(start, whole_turns(last - start), last)"),
    ),
    "only the first": (SPANS, SPANS.replace(", (0, whole_turns(start), start)", "")),
    "one start for loads of A only": (
        "load(B, B_T, MOVE_B, BN, bn * BN, kt, end)",
        "load(B, B_T, MOVE_B, BN, bn * BN, kt + 1, end)",
    ),
    "no barrier between them": ("            ag.barrier()  # the span before has been read\n", "            pass\n"),
    "the sum starts anew": (
        "    def walk(first, steps, end):\n",
        "    def walk(first, steps, end):\n"
        "        for j, i in ag.unroll(TN, TM):\n            acc[i, j] = acc[i, j] * 0.0\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "settings", [SMALL, pytest.param(SMALL | {"STAGGER": 4, "XM": 4, "DEPTH": 0}, marks=pytest.mark.full)], ids=str
)
def test_two_walks_are_one_sum(settings: dict[str, int]) -> None:
    report = check(scheduled(read(FILE, settings=settings, kernel="matmul")))
    assert report.status == "proved", report.render()
    assert {"conform", "reduced", "value", "covers", "placed"} <= {v.rule for v in report.verdicts}


@pytest.mark.parametrize("name", [*WRONG, *(pytest.param(name, marks=pytest.mark.full) for name in WRONG_TOO)])
def test_walks_that_do_not_fit_are_not_proved(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argus.check.explain.refuters.counterexample", lambda *_: None)
    old, new = (WRONG | WRONG_TOO)[name]
    text = FILE.read_text()
    assert text.count(old) == 1
    file = tmp_path / "matmul.py"
    file.write_text(text.replace(old, new))
    waves = {"WM": 2} if "barrier" in name else {}  # one wave waits for itself
    assert check(scheduled(read(file, settings=SMALL | waves, kernel="matmul"))).status != "proved"
