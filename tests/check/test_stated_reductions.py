"""`ag.check.reduced(acc, K=(from, to))` is proved where it says what was summed, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

GEMM = Path(__file__).parents[2] / "argus" / "kernels" / "gemm.py"
LOOP = "for kt in ag.range(K // BK):"
STORE = "    C[bm * BM"


def of_reduced(folder: Path, stated: str, loop: str = LOOP, start: str = "ag.zeros(", then: str = "") -> set[str]:
    """The verdicts of `reduced` about a GEMM without specification that states this of its sums."""
    text = GEMM.read_text().replace('    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",\n', "")
    assert text.count(LOOP) == text.count(STORE) == text.count("ag.zeros(") == 1
    text = text.replace(LOOP, loop).replace("ag.zeros(", start)
    text = text.replace(STORE, f"{then}    ag.check.reduced(acc, {stated})\n{STORE}")
    path = folder / "stated.py"
    path.write_text(text)
    report = check(scheduled(read(path, settings={"BM": 64, "BN": 64})))
    return {v.status for v in report.verdicts if v.rule == "reduced"}


@pytest.mark.parametrize(
    ("stated", "loop", "then"),
    [
        ("K=(0, K)", LOOP, ""),
        ("K=(64, K)", "for kt in ag.range(1, K // BK):", ""),
        ("K=(0, K - 64)", "for kt in ag.range(K // BK - 1):", ""),
        ("K=(0, K)", LOOP, "    acc = acc * 0.5\n"),
    ],
)
def test_what_was_summed_may_be_stated(tmp_path: Path, stated: str, loop: str, then: str) -> None:
    assert of_reduced(tmp_path, stated, loop, then=then) == {"proved"}


@pytest.mark.parametrize(
    ("stated", "loop", "start", "then"),
    [
        ("K=(0, K - 64)", LOOP, "ag.zeros(", ""),
        ("K=(0, K)", "for kt in ag.range(1, K // BK):", "ag.zeros(", ""),
        ("K=(0, K)", "for kt in ag.range(0, K // BK, 2):", "ag.zeros(", ""),
        ("K=(0, K + 64)", LOOP, "ag.zeros(", ""),
        ("M=(0, M)", LOOP, "ag.zeros(", ""),
        ("K=(0, K)", LOOP, "ag.zeros(", "    acc = acc + acc * acc\n"),
        ("K=(0, K)", LOOP, "ag.zeros(", "    acc = acc + 1.0\n"),
    ],
)
def test_nothing_else_is_proved(tmp_path: Path, stated: str, loop: str, start: str, then: str) -> None:
    assert "proved" not in of_reduced(tmp_path, stated, loop, start, then)
