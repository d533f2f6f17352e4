"""An accumulator that changes lanes on its way round the loop is never proved; one that is only scaled by 1 is."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from tests.check.judge import judge
from tests.check.kernels import KERNELS
from tests.check.mutants import mutants

FILE = Path(__file__).parents[2] / "argus" / "tasks" / "naive" / "gemm.py"
PLAIN = "ag.mfma(a, b, acc)"
PIPELINED = KERNELS["pipelined"]
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


def test_the_counterexample_is_a_launch_at_which_it_is_wrong() -> None:
    """Blocks swapped in one load of B: with a single block nothing is wrong."""
    program = PIPELINED()
    mutant = next(m for m in mutants(program.kernel) if m.name == "blocks swapped at line 39 p=4")
    found = judge(program, mutant)
    assert found.status == "refuted"
    assert found.truth == "wrong result"
