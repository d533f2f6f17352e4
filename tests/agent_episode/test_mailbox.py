"""Episodes through a folder: a scripted answerer uses the client as a model would, and everything is recorded."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from argus.agent.free_edit.arms import ARMS
from argus.agent.free_edit.episode import Attempt, episode
from argus.agent.invariants.library_imports import imports_library
from argus.agent.judge import Judgement
from argus.agent.judging import Judges
from argus.agent.providers import ProviderError, ReplayProvider, ReplyRecorder
from argus.agent.providers.command import Command
from argus.agent.tools import KernelTexts, ToolResult
from argus.pipeline import program_of, report_of
from argus.tasks.task import Task, load_task
from bench.agent_models.__main__ import compared, order, table
from bench.agent_models.episodes import NEAR, TASKS, attempt_line, read_episode
from bench.agent_models.record import Continued, note, prepare

AGENT = Path(__file__).parents[2] / "examples" / "agent"


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task("gemm")


class Stamp(Judges):
    """Passes everything; the times fall."""

    def __init__(self) -> None:
        self.judged: list[str] = []

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> list[Judgement]:
        self.judged += sources
        took = 100.0 / len(self.judged)
        return [Judgement("pass", "time", times={"M=1": took}, roof={"M=1": 10.0}, evidence="e") for _ in sources]


def bench(files: KernelTexts, name: str, arguments: Mapping[str, Any]) -> ToolResult:
    return ToolResult(0, f"{name} looked at {sorted(files.texts)}")


def tool(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "tool.py", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def played(
    task: Task, folder: Path, target: Path, answering: Callable[[Path], None], rounds: int, arm: str = "full"
) -> list[Attempt]:
    prepare(folder, rounds + 1)
    target.touch()
    provider = Continued(
        ReplayProvider(target),
        ReplyRecorder(Command(f"{sys.executable} {AGENT / 'mailbox.py'} {folder}", seconds=60), target),
    )
    thread = threading.Thread(target=answering, args=(folder,))
    thread.start()
    attempts = []
    try:
        for attempt in episode(
            task, provider, Stamp(), rounds=rounds, seed=0, toolbox=bench, arm=ARMS[arm], library=False
        ):
            (folder / "kernel.py").write_text(attempt.source)
            attempts.append(attempt)
    finally:
        (folder / "over.md").write_text("over\n")
        thread.join()
    return attempts


def test_a_draft_is_checked_and_handed_in_through_the_folder(task: Task, tmp_path: Path) -> None:
    said: list[str] = []

    def answering(folder: Path) -> None:
        said.append(tool(folder, "question"))
        (folder / "draft.py").write_text(task.source.replace("threads=64,", "threads=64,  # mine"))
        said.append(tool(folder, "check", "draft.py", "M=64"))
        said.append(tool(folder, "submit", "draft.py", "a comment"))

    target = tmp_path / "r.jsonl"
    attempts = played(task, tmp_path / "box", target, answering, rounds=1)
    assert "# mine" in attempts[1].source
    assert "The decorator @ag.kernel" in said[0]
    assert "> check looked at ['best.py', 'draft.py', 'kernel.py']" in said[1]
    assert said[2] == "over\n\n"
    again = list(episode(task, ReplayProvider(target), Stamp(), rounds=1, seed=0, toolbox=bench, library=False))
    assert [a.source for a in again] == [a.source for a in attempts]


def test_a_broken_episode_goes_on_where_its_recording_ends(task: Task, tmp_path: Path) -> None:
    def first(folder: Path) -> None:
        tool(folder, "question")
        (folder / "draft.py").write_text(task.source.replace("threads=64,", "threads=64,  # one"))
        tool(folder, "submit", "draft.py")
        tool(folder, "stop")

    def second(folder: Path) -> None:
        assert "# one" in tool(folder, "question")
        (folder / "draft.py").write_text(task.source.replace("threads=64,", "threads=64,  # two"))
        tool(folder, "submit", "draft.py")

    target = tmp_path / "r.jsonl"
    with pytest.raises(ProviderError, match="ARG-P111"):
        played(task, tmp_path / "a", target, first, rounds=2)
    attempts = played(task, tmp_path / "b", target, second, rounds=2)
    assert ["# one" in attempts[1].source, "# two" in attempts[2].source] == [True, True]


def test_assertions_stay_and_the_library_is_hidden(task: Task, tmp_path: Path) -> None:
    said: list[str] = []

    def answering(folder: Path) -> None:
        stated = tool(folder, "question").rpartition("```python\n")[2].rpartition("\n```")[0] + "\n"
        for text in (
            stated.replace('    ag.check.conform(ag.mfma, "K")\n', ""),
            stated.replace(
                '    ag.check.conform(ag.mfma, "K")\n', '    if False:\n        ag.check.conform(ag.mfma, "K")\n'
            ),
            f"from argus.kernels.rows import ROW\n{stated}",
            stated.replace("threads=64,", "threads=64,  # mine"),
        ):
            (folder / "draft.py").write_text(text)
            said.append(tool(folder, "submit", "draft.py"))

    attempts = played(task, tmp_path / "box", tmp_path / "r.jsonl", answering, rounds=1, arm="invariants")
    assert ["ARG-P122" in said[0], "ARG-P122" in said[1], "ARG-P123" in said[2]] == [True] * 3
    assert "# mine" in attempts[1].source
    assert "ag.check.reduced(acc, K=(0, K))" in attempts[1].source


def test_what_counts_as_an_import_of_the_library() -> None:
    assert imports_library("from argus.kernels.rows import ROW")
    assert imports_library("import argus.kernels.attention as a")
    assert not imports_library("import argus as ag\nfrom argus.gfx942 import mfma_32x32x8_bf16 as MMA")
    assert not imports_library("def (")


def test_the_table_shows_pairs_and_claims_no_mean_from_few(task: Task, tmp_path: Path) -> None:
    judged = Judgement("pass", "time", times={"M=1": 20.0}, roof={"M=1": 10.0}, evidence="e")
    for arm, took in (("full", 20.0), ("verdict", 30.0)):
        path = tmp_path / f"{arm}.jsonl"
        note(
            path, "episode", {"task": "grouped_gemm", "arm": arm, "number": 1, "model": "m", "commit": "c", "budget": 3}
        )
        note(path, "attempt", attempt_line(Attempt(0, "", "", judged)))
        failed = Attempt(1, "", "", Judgement("fail", "check"))
        better = Attempt(
            2, "", "", Judgement("pass", "time", times={"M=1": took / 2}, roof={"M=1": 10.0}, evidence="e")
        )
        for attempt in (failed, better):
            note(path, "attempt", attempt_line(attempt))
        with path.open("a") as file:
            reply = {"text": "four", "model": "m", "tokens_in": 0, "tokens_out": 0, "cut": False, "calls": []}
            file.write(json.dumps({"request": "x", "role": "lowering", "reply": reply}) + "\n")
    episodes = [read_episode(path) for path in sorted(tmp_path.glob("*.jsonl"))]
    row = next(line for line in table(episodes).splitlines() if "| full |" in line)
    assert "| grouped_gemm | full | 1 | 3 | 3 | 1 | 10.0 | 100 % | 1 | 0 | 4 characters |" in row
    assert "grouped_gemm 1: 1.50" in compared(episodes)
    assert "not claimed from 1 pairs" in compared(episodes)


def test_the_order_is_drawn_by_lot_and_complete() -> None:
    assert order(1) != order(2)
    assert len(set(order(1))) == len(NEAR) * len(ARMS) == 24


def test_a_folder_is_used_once(tmp_path: Path) -> None:
    prepare(tmp_path / "a", 10)
    with pytest.raises(SystemExit, match="not empty"):
        prepare(tmp_path / "a", 10)
    shutil.rmtree(tmp_path / "a")


@pytest.mark.parametrize("name", NEAR)
def test_the_uncovered_tasks_are_proved(name: str) -> None:
    path = TASKS / f"{name}.py"
    assert report_of(program_of(path, {}), run=False).proved
    assert not load_task(path).library


@pytest.mark.full
@pytest.mark.parametrize("name", NEAR)
def test_the_uncovered_tasks_pass_the_judge(name: str) -> None:
    task = load_task(TASKS / f"{name}.py")
    with Judges() as judges:
        (found,) = judges.judge([task.source], task, seed=0)
    assert (found.verdict, found.stage) == ("pass", "time")
