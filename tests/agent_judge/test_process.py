"""The judge in its own process: honest kernels pass, every stage can end a judgement, nothing takes the caller down."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files

import pytest

from argus.agent.judge import Judgement, JudgeProcess, Problem

NAIVE = files("argus.kernels").joinpath("vadd.py").read_text()
PROBLEM = Problem("vadd", NAIVE, small=({"N": 5000},), shapes=({"N": 1 << 20},), held_out=({"N": 70004},))


@pytest.fixture(scope="module")
def process() -> Iterator[JudgeProcess]:
    with JudgeProcess() as judge:
        yield judge


def changed(old: str, new: str) -> str:
    assert NAIVE.count(old) >= 1, old
    return NAIVE.replace(old, new)


def rules(judgement: Judgement) -> set[str]:
    return {violation.rule for violation in judgement.violations}


def test_honest_kernel_passes_twice_with_the_same_evidence(process: JudgeProcess) -> None:
    first, second = (process.judge(NAIVE, PROBLEM, seed=1) for _ in range(2))
    assert first.verdict == "pass", first
    assert first.to_json() == second.to_json()
    assert first.unknown == 0
    assert first.times["N=1048576"] >= first.roof["N=1048576"] * 0.9
    assert process.judge(NAIVE, PROBLEM, seed=2).evidence != first.evidence


def test_workgroups_without_work_are_replaced(process: JudgeProcess) -> None:
    """Half of the grid lies behind the vector; as many workgroups that write are judged."""
    judgement = process.judge(changed("ag.grid(ag.cdiv(N, size))", "ag.grid(2 * ag.cdiv(N, size))"), PROBLEM, seed=1)
    assert judgement.verdict == "pass", judgement


def test_wrong_result_is_refused_although_its_own_specification_fits(process: JudgeProcess) -> None:
    judgement = process.judge(changed("y[start].load", "x[start].load"), PROBLEM, seed=1)
    assert judgement.verdict in ("fail", "unknown")
    assert not judgement.times


def test_another_specification_is_refused(process: JudgeProcess) -> None:
    judgement = process.judge(changed('"z[i] = x[i] + y[i]"', '"z[i] = x[i]"'), PROBLEM, seed=1)
    assert (judgement.verdict, judgement.stage, rules(judgement)) == ("fail", "contract", {"contract"})


def test_no_program(process: JudgeProcess) -> None:
    judgement = process.judge("import os\nos.abort()\n", PROBLEM, seed=1)
    assert (judgement.verdict, judgement.stage) == ("error", "read")
    assert judgement.evidence


def test_faster_than_light(process: JudgeProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    from argus.agent.judge import court

    monkeypatch.setattr(court, "least_microseconds", lambda *_, **__: 1e9)
    judgement = court.Court(PROBLEM).judge(NAIVE, 1)
    assert (judgement.verdict, rules(judgement)) == ("fail", {"speed of light"})
    assert not judgement.times


def test_death_of_the_judge_is_a_judgement() -> None:
    with JudgeProcess() as judge:
        assert judge.judge("x", PROBLEM, seed=1).verdict == "error"
        assert judge._child is not None
        os.kill(judge._child.pid, signal.SIGSTOP)
        judge.seconds = 0.5
        judgement = judge.judge("y", PROBLEM, seed=1)
        assert (judgement.verdict, judgement.stage) == ("error", "judge")
        judge.seconds = 60
        assert judge.judge("x", PROBLEM, seed=1).stage == "read"


def test_problem_survives_the_way_there() -> None:
    assert Problem.from_json(PROBLEM.to_json()) == PROBLEM
    assert replace(PROBLEM, task="other").digest() != PROBLEM.digest()
