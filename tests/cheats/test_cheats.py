"""Every known cheat is refused by name, or has no way in; honest kernels pass."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from argus.agent.judge import Judgement, Problem
from argus.agent.judge.court import Court
from tests.cheats.table import CHEATS, GATHER, GEMM, NOT_HERE, SCALED, VADD, Cheat, edit, rows

PROBLEMS = {
    "vadd": Problem("vadd", VADD, small=({"N": 5000},), shapes=({"N": 1 << 18},), held_out=({"N": 70004},)),
    "gemm": Problem("gemm", GEMM, small=({"M": 128, "N": 128, "K": 64},), shapes=({"M": 256, "N": 256, "K": 256},)),
    "gather": Problem("gather", GATHER, small=({"P": 200, "B": 32},), shapes=({"P": 50_000, "B": 64},)),
    "scaled": Problem("scaled", SCALED, small=({"N": 128},), shapes=({"N": 4096},)),
}
HONEST = {
    "vadd": (VADD, edit(VADD, ("ag.knob(4,", "ag.knob(2,"))),
    "gemm": (GEMM, GEMM + "\n# as fast as before\n"),
    "gather": (GATHER, edit(GATHER, ("0, P - 1", "0, P"))),
    "scaled": (SCALED,),
}
ROWS = {
    *(f"T{n}" for n in range(1, 16)),
    *(f"R{n}" for n in range(1, 18)),
    *(f"W{n}" for n in range(1, 10)),
    *(f"H{n}" for n in range(1, 10)),
    *(f"I{n}" for n in range(1, 5)),
}


@cache
def court(task: str) -> Court:
    return Court(PROBLEMS[task])


def names(judgement: Judgement) -> set[str]:
    return {word for v in judgement.violations for word in (v.rule, v.message.split(":")[0])}


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.id)
def test_cheat_is_refused_by_name(cheat: Cheat) -> None:
    judgement = court(cheat.task).judge(cheat.source, 3)
    assert judgement.verdict != "pass"
    assert not judgement.times
    assert (judgement.stage, cheat.name in names(judgement)) == (cheat.stage, True), judgement.violations


@pytest.mark.parametrize("task", list(HONEST))
def test_honest_kernels_pass(task: str) -> None:
    for honest in HONEST[task]:
        judgement = court(task).judge(honest, 3)
        assert judgement.verdict == "pass", judgement.violations


def test_unknown_is_not_a_pass() -> None:
    source = edit(VADD, ("store(total", "store(ag.max(total, -1.0e38)"))
    assert court("vadd").judge(source, 3).verdict == "unknown"


def test_every_row_is_here_once() -> None:
    listed = [row.id for row in (*CHEATS, *NOT_HERE)]
    assert sorted(name for name in listed if not name.startswith("S")) == sorted(ROWS)
    assert len(ROWS) == 54
    assert len(set(listed)) == len(listed)


def test_the_page_holds_this_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "judge.md").read_text()
    assert [line for line in page.splitlines() if re.match(r"\| [TRWHIS]\d+ \|", line)] == rows()
