"""A run that is stopped and resumed ends where an uninterrupted one ends."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from argus.agent.journal import Journal
from argus.agent.journal.lineage import Story
from argus.agent.judge import Judgement, Problem, Violation
from argus.agent.judge.evidence import question
from argus.agent.optimise import optimise
from argus.agent.policy import PolicyTable
from argus.agent.record import RunRecorder, resumed
from argus.agent.search_state import SearchCandidate, Settings, State
from argus.agent.view import RunView, attempt_line
from argus.spec import Bounded, SpecError
from argus.spec.compare import compare
from argus.tasks.task import Task, load_task, read_task
from tests.agent.test_search import Scripted
from tests.cheats.table import VADD

SETTINGS = Settings(seed=2, budget=8)


class Stopped(Exception):
    pass


def test_gone_on_with(tmp_path: Path) -> None:
    task = load_task("gemm")
    whole = optimise(task, SETTINGS, Scripted())  # type: ignore[arg-type]
    with Journal.write(tmp_path) as journal:
        recorder = RunRecorder.begin(journal, task, SETTINGS, PolicyTable(), "gemm")

        def until_five(state: State, candidate: SearchCandidate) -> None:
            recorder.listen(state, candidate)
            if candidate.number == 5:
                raise Stopped

        with suppress(Stopped):
            optimise(task, SETTINGS, Scripted(), listen=until_five)  # type: ignore[arg-type]
    with Journal.write(tmp_path) as journal:
        again = resumed(journal, None, task)
        assert again.settings == SETTINGS
        state = optimise(task, again.settings, Scripted(), policy=again.policy, listen=again.listen)  # type: ignore[arg-type]
        again.end(state)
        story = Story.of(journal)
    assert [c.source for c in state.candidates] == [c.source for c in whole.candidates]
    assert len(story.candidates) == len(whole.candidates)
    best = story.best()
    assert best is not None
    assert best.microseconds == whole.best.microseconds


def test_what_a_person_sees(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as stream:
        view = RunView(stream)
        state = optimise(load_task("gemm"), SETTINGS, Scripted(), listen=view.listen)  # type: ignore[arg-type]
        view.end(state)
    text = (tmp_path / "out").read_text()
    assert "\x1b" not in text
    assert f"{state.spent} of 8 evaluations" in text
    assert all(attempt_line(state, c)[:60] in text for c in state.candidates)


BLAMED = Judgement("error", "judge", (Violation("judge", "SIGKILL", status="error"),))


class Starved(Scripted):
    """The machine has no memory for the n-th question."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> list[Judgement]:
        before = len(self.asked)
        found = super().judge(sources, task, seed=seed)
        return [BLAMED if before + n == self.number else judgement for n, judgement in enumerate(found)]


class Remembering(Scripted):
    """Looks its answers up first, as `Judges` does."""

    def __init__(self, recorder: RunRecorder) -> None:
        super().__init__()
        self.recorder = recorder

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> list[Judgement]:
        asked = [question(source, Problem.of(task), seed) for source in sources]
        known = [self.recorder.remembered(name) for name in asked]
        return [old or self._one(source) for old, source in zip(known, sources, strict=True)]


def stopped_at(journal: Journal, number: int, judges: Scripted) -> RunRecorder:
    """A run that is killed when it has kept that candidate."""
    task = load_task("gemm")
    recorder = RunRecorder.begin(journal, task, SETTINGS, PolicyTable(), "gemm")

    def until(state: State, candidate: SearchCandidate) -> None:
        recorder.listen(state, candidate)
        if candidate.number == number:
            raise Stopped

    with suppress(Stopped):
        optimise(task, SETTINGS, judges, listen=until)  # type: ignore[arg-type]
    return recorder


def test_an_error_of_the_machine_at_the_end_is_asked_again(tmp_path: Path) -> None:
    task = load_task("gemm")
    with Journal.write(tmp_path) as journal:
        recorder = stopped_at(journal, 5, Starved(5))
        before = list(journal.events())
        assert before[-1].payload["stage"] == "judge"
        assert recorder.remembered(before[-1].payload["question"]) is None
        assert recorder.remembered(before[-3].payload["question"]) is not None
        for _ in range(2):
            again = resumed(journal, None, task)
            state = optimise(task, SETTINGS, Remembering(again), policy=again.policy, listen=again.listen)  # type: ignore[arg-type]
        assert list(journal.events())[: len(before)] == before, "nothing is changed or removed"
        said = {c.id: c.verdict for c in Story.of(journal).candidates}
    whole = optimise(task, SETTINGS, Scripted())  # type: ignore[arg-type]
    assert [c.source for c in state.candidates] == [c.source for c in whole.candidates]
    assert said == {f"c{c.number}": c.judgement.verdict for c in whole.candidates}, "the last judgement counts"


def test_a_run_that_went_on_from_an_error_stands_by_it(tmp_path: Path) -> None:
    task = load_task("gemm")
    with Journal.write(tmp_path) as journal:
        stopped_at(journal, 5, Starved(1))
        asked = next(journal.events(kind="judgement", after=3)).payload["question"]
        again = resumed(journal, None, task)
        known = again.remembered(asked)
        assert known is not None
        assert known.stage == "judge"
        optimise(task, SETTINGS, Remembering(again), policy=again.policy, listen=again.listen)  # type: ignore[arg-type]
        other = RunRecorder.begin(journal, task, SETTINGS, PolicyTable(), "gemm")
        assert other.remembered(asked) is None, "another run asks for itself"


class Undefined(Scripted):
    """Every candidate gives NaN where a number is wanted."""

    def _one(self, source: str) -> Judgement:
        zero = np.zeros(1)
        seen = compare(np.array([np.nan], np.float32), Bounded(("n",), zero, zero))
        detail = {**seen.to_json(), "witness": [float("-inf")]}
        return Judgement("fail", "small", (Violation("result", "wrong", detail=detail),), evidence="e")


def test_results_that_are_no_numbers_are_kept_and_a_run_without_a_best_ends(tmp_path: Path) -> None:
    task = load_task("gemm")
    settings = replace(SETTINGS, budget=2)
    with Journal.write(tmp_path) as journal:
        recorder = RunRecorder.begin(journal, task, settings, PolicyTable(), "gemm")
        recorder.end(optimise(task, settings, Undefined(), listen=recorder.listen))  # type: ignore[arg-type]
        seen = next(journal.events(kind="judgement")).payload["violations"][0]["detail"]
        end = Story.of(journal).ended
    assert (seen["first_wrong"]["got"], seen["witness"]) == ("nan", ["-inf"])
    assert end is not None
    assert end["microseconds"] is None


def test_a_task_that_cannot_tell_begins_no_run(tmp_path: Path) -> None:
    text = "TASK = dict(shapes=[dict(N=4096)], small=[dict(N=4096)])\n" + VADD.replace("= x[i] + y[i]", "= 0 * x[i]")
    with Journal.write(tmp_path) as journal:
        with pytest.raises(SpecError, match="zeros would pass"):
            RunRecorder.begin(journal, read_task("t", text), SETTINGS, PolicyTable(), "t.py")
        assert not journal.runs()
