"""What is not the candidate's fault: it is told in words, remembered by nobody, and ends with the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from argus.agent import judging
from argus.agent.judge import Judgement, JudgeProcess, Problem, Violation, process
from argus.agent.judge.court import Court
from argus.agent.judging import Judges
from argus.tasks.task import load_task
from tests.agent_judge.test_process import NAIVE, PROBLEM

BLAMED = Judgement("error", "judge", (Violation("judge", "no memory", status="error"),))
PARENT = """
import time
from argus.agent.judge import JudgeProcess
from tests.agent_judge.test_process import PROBLEM
judge = JudgeProcess()
judge.judge("x", PROBLEM, seed=1)
print(judge._child.pid, flush=True)
time.sleep(600)
"""


def within(seconds: float, happens: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while not happens() and time.monotonic() < until:
        time.sleep(0.02)
    return happens()


def gone(pid: int) -> bool:
    """Ended, whether or not somebody has asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_a_refused_task_says_why() -> None:
    constant = replace(PROBLEM, naive=NAIVE.replace("z[i] = x[i] + y[i]", "z[i] = 0 * x[i] + 0 * y[i]"))
    with JudgeProcess() as judge:
        refused = judge.judge(NAIVE, constant, seed=1)
        assert (refused.verdict, refused.stage) == ("error", "judge")
        assert "zeros would pass" in refused.violations[0].message
        assert judge.judge("x", PROBLEM, seed=1).stage == "read", "the process goes on"


def test_a_fault_of_the_judge_says_what_and_where(monkeypatch: pytest.MonkeyPatch) -> None:
    from argus.agent.judge import court

    def fault(*_: object, kept: bool) -> None:
        raise KeyError("lost")

    monkeypatch.setattr(court, "report_of", fault)
    found = Court(PROBLEM).judge(NAIVE, 1)
    assert (found.verdict, found.stage, found.of_machine) == ("error", "check", True)
    assert found.violations[0].message.startswith("KeyError: 'lost' (test_faults.py:")


def test_the_last_words_of_a_process_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'no room for another thread' >&2\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setattr(process.sys, "executable", str(script))
    with JudgeProcess() as judge:
        found = judge.judge("x", PROBLEM, seed=1)
    assert found.of_machine
    assert found.violations[0].message.endswith("exit code 3: no room for another thread")


def test_a_judge_dies_with_its_killed_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    judge = int(parent.stdout.readline())
    assert not gone(judge)
    parent.kill()
    parent.communicate()
    assert within(5.0, lambda: gone(judge))


asked: list[str] = []


class Scripted(JudgeProcess):
    """Answers at once, except to `slow`, which waits for `go`; asked for `faulty`, the machine is to blame."""

    go = threading.Event()

    def judge(self, source: str, problem: Problem, *, seed: int) -> Judgement:
        asked.append(source)
        if source == "slow":
            self.go.wait(20)
        return BLAMED if source == "faulty" else Judgement("pass", source, evidence="e")


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> Judges:
    monkeypatch.setattr(judging, "JudgeProcess", Scripted)
    asked.clear()
    Scripted.go.clear()
    return Judges(2)


def test_judgements_come_in_order_as_they_arrive(judges: Judges) -> None:
    with judges:
        coming = iter(judges.judge(["fast", "slow", "other"], load_task("softmax"), seed=0))
        assert next(coming).stage == "fast", "the second one is still under way"
        Scripted.go.set()
        assert [judgement.stage for judgement in coming] == ["slow", "other"]


def test_an_error_of_the_machine_is_asked_again(judges: Judges) -> None:
    with judges:
        for _ in range(2):
            found = list(judges.judge(["faulty", "good"], load_task("softmax"), seed=0))
            assert [judgement.verdict for judgement in found] == ["error", "pass"]
    assert sorted(asked) == ["faulty", "faulty", "good"]


def test_closing_does_not_wait_for_a_judgement() -> None:
    judges = Judges(1)
    assert isinstance(judges._asking, judging.LocalJudges)
    (judge,) = judges._asking._processes
    coming = iter(judges.judge(["x", "y"], load_task("softmax"), seed=0))
    found: list[Judgement] = []
    waiting = threading.Thread(target=lambda: found.append(next(coming)))
    waiting.start()
    assert within(10.0, lambda: judge._child is not None)
    child = judge._child
    assert child is not None
    os.kill(child.pid, signal.SIGSTOP)
    started = time.monotonic()
    judges.close()
    assert time.monotonic() - started < 10
    waiting.join(10)
    assert gone(child.pid)
    assert [judgement.of_machine for judgement in found] == [True]
