"""A campaign over tasks: several askers, a file of records, askers that fail, and a run that goes on."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from argus.bench.kernelbench.asking import ClusterTask, failed, named
from argus.bench.kernelbench.campaign import append, campaign, records
from argus.bench.kernelbench.task_files import TaskFile, tasks_of
from argus.cluster import ClusterError, HerePool, WorkerDiedError


class Asker:
    """Counts what it is asked; `at` raises or returns what the test says."""

    def __init__(self, asked: Counter[str], fails: dict[str, Exception] | None = None) -> None:
        self.asked, self.fails = asked, fails or {}

    def ask(self, task: TaskFile, dtype: str, timed: bool) -> dict[str, Any]:
        self.asked[task.id] += 1
        if task.id in self.fails:
            raise self.fails[task.id]
        return {**named(task, dtype), "status": "solved", "code": "", "reason": ""}

    def close(self) -> None: ...


@pytest.fixture
def tasks(tmp_path: Path) -> list[TaskFile]:
    folder = tmp_path / "level1"
    folder.mkdir()
    for number in range(1, 13):
        (folder / f"{number}_Task.py").write_text(f"N = {number}\n")
    return tasks_of(tmp_path)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_task_is_judged_once_and_recorded(tasks: list[TaskFile], tmp_path: Path, workers: int) -> None:
    asked: Counter[str] = Counter()
    file = tmp_path / "out" / "records.jsonl"
    found = list(campaign(tasks, "f32", file, [Asker(asked) for _ in range(workers)]))
    assert asked == Counter(task.id for task in tasks)
    assert sorted(record["task"] for record, _ in found) == [task.number for task in tasks]
    assert not any(known for _, known in found)
    assert len(records(file)) == len(tasks)


def test_a_run_goes_on_from_its_records_and_a_cut_off_line_is_judged_again(
    tasks: list[TaskFile], tmp_path: Path
) -> None:
    asked: Counter[str] = Counter()
    file = tmp_path / "records.jsonl"
    list(campaign(tasks[:7], "f32", file, [Asker(asked)]))
    text = file.read_text()
    file.write_text(text[:-20])  # a kill in the middle of the seventh line
    found = list(campaign(tasks, "f32", file, [Asker(asked), Asker(asked)]))
    assert [known for _, known in found] == [True] * 6 + [False] * 6
    assert asked == Counter({task.id: 1 for task in tasks} | {tasks[6].id: 2})
    assert len(records(file)) == len(tasks)


def test_a_changed_task_is_judged_again(tasks: list[TaskFile], tmp_path: Path) -> None:
    asked: Counter[str] = Counter()
    file = tmp_path / "records.jsonl"
    list(campaign(tasks[:3], "f32", file, [Asker(asked)]))
    tasks[1].path.write_text("N = 0\n")
    list(campaign(tasks[:3], "f32", file, [Asker(asked)]))
    assert asked == Counter({tasks[0].id: 1, tasks[1].id: 2, tasks[2].id: 1})


def test_what_an_asker_raises_ends_the_campaign_and_keeps_what_was_judged(
    tasks: list[TaskFile], tmp_path: Path
) -> None:
    asked: Counter[str] = Counter()
    file = tmp_path / "records.jsonl"
    lost = ClusterError("ARG-R105", "the cluster is gone")
    with pytest.raises(ClusterError, match="ARG-R105"):
        list(campaign(tasks, "f32", file, [Asker(asked, {tasks[4].id: lost})]))
    assert len(records(file)) == 4
    list(campaign(tasks, "f32", file, [Asker(asked)]))
    assert asked == Counter({task.id: 1 for task in tasks} | {tasks[4].id: 2})


def test_askers_work_at_the_same_time(tasks: list[TaskFile], tmp_path: Path) -> None:
    """Two tasks that wait for each other are both judged."""
    both = threading.Barrier(2, timeout=20)

    class Meeting(Asker):
        def ask(self, task: TaskFile, dtype: str, timed: bool) -> dict[str, Any]:
            both.wait()
            return super().ask(task, dtype, timed)

    asked: Counter[str] = Counter()
    found = list(campaign(tasks[:2], "f32", tmp_path / "records.jsonl", [Meeting(asked), Meeting(asked)]))
    assert len(found) == 2


def test_a_task_that_ends_its_workers_is_failed(tasks: list[TaskFile]) -> None:
    class DeadPool(HerePool):
        def ask(self, work: str, item: Any) -> Any:
            raise WorkerDiedError("3 workers in a row died of this work")

    record = ClusterTask(DeadPool()).ask(tasks[0], "f32", timed=False)
    assert record == failed(tasks[0], "f32", "ARG-R104", "3 workers in a row died of this work")


def test_a_line_after_a_cut_off_one_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text('{"key": "a"}\n{"key": "b", "na')
    append(file, {"key": "c"})
    assert set(records(file)) == {"a", "c"}
