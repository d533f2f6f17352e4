"""An accumulator that changes lanes on its way round the loop is never proved; one that is only scaled by 1 is."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

FILE = Path(__file__).parents[2] / "argus" / "tasks" / "naive" / "gemm.py"
PLAIN = "ag.mfma(a, b, acc)"
NEIGHBOUR = "acc.from_lane(ag.lane() ^ 1).held_as(ACC)"


def status(carried: str) -> str:
    text = FILE.read_text()
    assert text.count(PLAIN) == 1
    text = text.replace(PLAIN, f"ag.mfma(a, b, {carried})")
    return check(scheduled(read(text.replace("\nFRAG", '\nACC = MMA.acc(row="m", col="n")\nFRAG')))).status


def test_scaled_in_place() -> None:
    assert status("acc * 1.0") == "proved"


@pytest.mark.parametrize(
    "carried",
    [
        NEIGHBOUR,
        f"{NEIGHBOUR} * 1.0",
        "(acc * 1.0).from_lane(ag.lane() ^ 32).held_as(ACC)",
        f"ag.where(ag.lane() % 2 == 0, acc, {NEIGHBOUR} * 1.0)",
    ],
)
def test_moved(carried: str) -> None:
    assert status(carried) == "refuted"
