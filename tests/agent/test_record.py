"""A run that is stopped and gone on with ends where an uninterrupted one ends."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from argus.agent.journal import Journal
from argus.agent.journal.lineage import Story
from argus.agent.optimise import Candidate, Settings, State, optimise
from argus.agent.policy import Policy
from argus.agent.record import Recorder, resumed
from argus.agent.view import View, attempt_line
from argus.tasks.task import load_task
from tests.agent.test_search import Scripted

SETTINGS = Settings(seed=2, budget=8)


class Stopped(Exception):
    pass


def test_gone_on_with(tmp_path: Path) -> None:
    task = load_task("gemm")
    whole = optimise(task, SETTINGS, Scripted())  # type: ignore[arg-type]
    with Journal.write(tmp_path) as journal:
        recorder = Recorder.begin(journal, task, SETTINGS, Policy(), "gemm")

        def until_five(state: State, candidate: Candidate) -> None:
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
        view = View(stream)
        state = optimise(load_task("gemm"), SETTINGS, Scripted(), listen=view.listen)  # type: ignore[arg-type]
        view.end(state)
    text = (tmp_path / "out").read_text()
    assert "\x1b" not in text
    assert f"{state.spent} of 8 evaluations" in text
    assert all(attempt_line(state, c)[:60] in text for c in state.candidates)
