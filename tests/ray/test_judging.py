"""Judgements on Ray: the same as alone, also when a worker or its judge is killed in the middle."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from argus.agent.judge import Judgement, JudgeProcess
from argus.agent.judging import ClusterJudges
from argus.cluster import Pool
from bench.kills import Process, called, descendants
from bench.ray_kill import JUDGING
from tests.agent_judge.test_process import NAIVE, PROBLEM, changed

pytestmark = pytest.mark.full
SOURCES = (
    NAIVE,
    changed("ag.grid(ag.cdiv(N, size))", "ag.grid(2 * ag.cdiv(N, size))"),
    changed('"z[i] = x[i] + y[i]"', '"z[i] = x[i]"'),
    NAIVE.replace("def ", "deff ", 1),
)
JUDGE = "argus.agent.judge.worker"


@pytest.fixture(scope="module")
def alone() -> list[Judgement]:
    with JudgeProcess() as judge:
        return [judge.judge(source, PROBLEM, seed=1) for source in SOURCES]


def below(words: str) -> list[Process]:
    """Processes we have started whose command line holds `words`."""
    found = []
    for process in descendants(os.getpid()):
        try:
            if words in called(process):
                found.append(process)
        except OSError:
            continue
    return found


@contextmanager
def killer(find: Callable[[], list[Process]], times: int) -> Iterator[list[Process]]:
    """Kills what `find` finds, as often as is said, while the block runs."""
    over = threading.Event()
    killed: list[Process] = []

    def watch() -> None:
        while not over.is_set() and len(killed) < times:
            if found := [process for process in find() if process not in killed]:
                time.sleep(0.3)
                os.kill(found[0][0], signal.SIGKILL)
                killed.append(found[0])
            time.sleep(0.05)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def judged(pool: Pool) -> list[Judgement]:
    judges = ClusterJudges(pool)
    return [pending.result() for pending in [judges.ask(source, PROBLEM, 1) for source in SOURCES]]


@pytest.mark.parametrize(("words", "times"), [(JUDGING, 1), (JUDGE, 1), (JUDGING, 2)])
def test_a_killed_worker_or_judge_changes_nothing(pool: Pool, alone: list[Judgement], words: str, times: int) -> None:
    with killer(lambda: below(words), times) as killed:
        found = judged(pool)
    assert len(killed) == times
    assert [judgement.to_json() for judgement in found] == [judgement.to_json() for judgement in alone]
    assert [judgement.verdict for judgement in found] == ["pass", "pass", "fail", "error"]
    assert all(judgement.machine["node"] and judgement.seconds for judgement in found)


def test_a_candidate_that_kills_every_worker_is_an_error_and_the_rest_goes_on(
    pool: Pool, alone: list[Judgement]
) -> None:
    judges = ClusterJudges(pool)
    for _ in range(5):  # a worker may be done before it is found; then fewer than three were killed
        with killer(lambda: below(JUDGING), 3) as killed:
            lost = judges.ask(NAIVE, PROBLEM, 2).result()
        if len(killed) == 3:
            break
    assert len(killed) == 3
    assert (lost.verdict, lost.stage, lost.of_machine) == ("error", "judge", True)
    assert "ARG-R104: 3 workers in a row died of this work" in lost.violations[0].message
    assert judges.ask(NAIVE, PROBLEM, 1).result().to_json() == alone[0].to_json()
