"""Whoever is ready first: a search that judges on several workers takes the same way as one that has one judge."""

from __future__ import annotations

import random
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from time import sleep
from typing import Any

import pytest

from argus.agent.judge import Judgement, Problem
from argus.agent.judge.remote import WORK
from argus.agent.judging import Judges
from argus.agent.optimise import optimise
from argus.agent.search_state import Settings, State
from argus.cluster import HerePool, WorkAnswer
from argus.tasks.task import load_task
from tests.agent.test_search import Scripted


@dataclass
class Racing(HerePool):
    """Four workers that take random times; judgements are those of the scripted judge."""

    seed: int

    def __post_init__(self) -> None:
        self.threads = ThreadPoolExecutor(4)
        self.dice = random.Random(self.seed)
        self.order: list[int] = []
        self.asked = 0

    def ask(self, work: str, item: Any) -> Future[WorkAnswer]:  # type: ignore[override]
        assert work == WORK
        number, wait = self.asked, self.dice.uniform(0, 0.02)
        self.asked += 1

        def answer() -> WorkAnswer:
            sleep(wait)
            (judgement,) = Scripted().judge([item["source"]], load_task("gemm"), seed=item["seed"])
            self.order.append(number)
            return WorkAnswer({"judgement": judgement.to_json(), "seconds": {}}, {"host": f"h{number}"})

        return self.threads.submit(answer)

    def close(self) -> None:
        self.threads.shutdown()


def way(state: State) -> list[tuple[Any, ...]]:
    return [(c.number, c.step, c.parent, c.technique, c.source, c.judgement.to_json()) for c in state.candidates]


@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_completion_changes_nothing(seed: int) -> None:
    settings = Settings(seed=seed, budget=16, batch=4, patience=16)
    task = load_task("gemm")
    alone = optimise(task, settings, Scripted())  # type: ignore[arg-type]
    with Racing(seed) as pool, Judges(pool=pool) as judges:
        raced = optimise(task, settings, judges)
    assert way(raced) == way(alone)
    assert pool.order != sorted(pool.order), "nobody overtook anybody"
    assert pool.asked == len({(Problem.of(task).digest(), c.source) for c in raced.candidates})
    assert isinstance(raced.candidates[0].judgement, Judgement)
