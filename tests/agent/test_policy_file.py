"""The policy between runs: nothing is lost, nothing is counted twice, a person's lines stay."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from argus.agent.lessons import lessons_for
from argus.agent.policy import PolicyTable
from argus.agent.policy_file import leave, read_policy, text_beside

KEY = ("row", "hbm", "row-vectors")
RUNS = 8


def learnt() -> PolicyTable:
    policy = PolicyTable()
    policy.learn(KEY, 0.5, 0)
    return policy


def test_runs_that_end_together_are_all_learnt_from(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    with ThreadPoolExecutor(RUNS) as threads:
        list(threads.map(lambda number: leave(learnt(), f"run {number}", path), range(RUNS)))
    found = read_policy(path)
    assert (len(found.runs), found.updates, found.rows[KEY].tries) == (RUNS, RUNS, RUNS)


def test_lines_of_a_person_stay_where_no_mark_is(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    text_beside(path).write_text("Rows are short here.\n")
    for run in ("a", "b"):
        leave(learnt(), run, path)
    assert text_beside(path).read_text().splitlines()[-1] == "Rows are short here."
    assert "version 2" in text_beside(path).read_text().splitlines()[0]


def test_a_model_is_told_of_its_family_only() -> None:
    assert "row-vectors" in lessons_for(learnt(), "row")
    assert lessons_for(learnt(), "gemm") == ""
