"""Judgements on the workers of a cluster: one question as JSON, one judgement as JSON.

    answer({"problem": {…}, "source": "…", "seed": 0})   ->   {"judgement": {…}, "seconds": {…}}

A worker keeps one judge process from question to question, as `argus optimize` does: it has the limit of time, and a
candidate that takes the judge down is judged in the same words as elsewhere. A judge that was killed from outside (no
memory left, a person) has judged nothing: the question is then for another worker.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from argus.agent.judge.problem import Judgement, Problem
from argus.agent.judge.process import JudgeProcess
from argus.cluster import KilledWorkError, WorkAnswer

WORK = "argus.agent.judge.remote:answer"


@cache
def _process() -> JudgeProcess:
    return JudgeProcess()


def answer(item: dict[str, Any]) -> dict[str, Any]:
    """What a worker is asked for."""
    process = _process()
    judgement = process.judge(item["source"], Problem.from_json(item["problem"]), seed=item["seed"])
    if process.killed:
        raise KilledWorkError(judgement.violations[0].message)
    return {"judgement": judgement.to_json(), "seconds": dict(judgement.seconds)}


def asked_of(source: str, problem: Problem, seed: int) -> dict[str, Any]:
    """The question."""
    return {"problem": problem.to_json(), "source": source, "seed": seed}


def judgement_of(answer: WorkAnswer) -> Judgement:
    """The judgement, with the machine it was made on."""
    return Judgement.from_json(answer.value["judgement"], answer.value["seconds"], answer.machine)
