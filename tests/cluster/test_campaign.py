"""A campaign over tasks: several askers, a file of records, askers that fail, and a run that goes on."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from argus.bench.kernelbench.asking import ClusterTask, failed, named
from argus.bench.kernelbench.campaign import append, campaign, compacted, records
from argus.bench.kernelbench.holding import CLOCK, REFUTERS, WORKER, CodeNow, needed, reached, standing
from argus.bench.kernelbench.task_files import TaskFile, Timing, numbers_of, tasks_of
from argus.cluster import ClusterError, HerePool, WorkerDiedError


class Asker:
    """Counts what it is asked; `fails` says what it raises, `plans` the digests of plans that are not the usual one."""

    def __init__(
        self, asked: Counter[str], fails: dict[str, Exception] | None = None, plans: dict[str, str] | None = None
    ) -> None:
        self.asked, self.fails, self.plans = asked, fails or {}, plans or {}

    def ask(self, task: TaskFile, dtype: str, timed: Timing) -> dict[str, Any]:
        self.asked[task.id if timed not in ("only", "plan") else f"{task.id} {timed}"] += 1
        if task.id in self.fails:
            raise self.fails[task.id]
        record = {**named(task, dtype), "status": {"only": "timed", "plan": "planned"}.get(str(timed), "solved")}
        times = {"simulated_us": 1.0, "low_us": 0.9, "high_us": 1.1, "protocol": "graph", "costs": []}
        plan = self.plans.get(task.id, "p")
        return {
            **record, "code": "", "reason": "", "rests": {"plan": plan, "reduced": plan},
            **(times if timed in (True, "only") else {}),
        }  # fmt: skip

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
    assert sorted(record["task"] for record, _, _ in found) == [task.number for task in tasks]
    assert not any(known for _, known, _ in found)
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
    assert [known for _, known, _ in found] == [True] * 6 + [False] * 6
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
        def ask(self, task: TaskFile, dtype: str, timed: Timing) -> dict[str, Any]:
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
    one = '{"level": 1, "task": 1, "dtype": "f32", "rests": {}}'
    file.write_text(one + '\n{"level": 1, "task": 2, "na')
    append(file, {"level": 1, "task": 3, "dtype": "f32", "rests": {}})
    assert set(records(file)) == {("L1_1", "f32"), ("L1_3", "f32")}


NOW = CodeNow("judge", "clock", "planner")


@pytest.fixture
def code(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Says which code there is."""

    def now(**changed: str) -> None:
        monkeypatch.setattr("argus.bench.kernelbench.campaign.code_now", lambda: replace(NOW, **changed))

    now()
    return now


Run = Callable[..., tuple[list[tuple[str, bool, str]], Counter[str]]]


@pytest.fixture
def run(tasks: list[TaskFile], tmp_path: Path) -> Run:
    """Go over the first two tasks; status, known and why of each, and what was asked."""

    def made(timed: Timing, plans: dict[str, str] | None = None) -> tuple[list[tuple[str, bool, str]], Counter[str]]:
        asked: Counter[str] = Counter()
        found = campaign(tasks[:2], "f32", tmp_path / "records.jsonl", [Asker(asked, plans=plans)], timed)
        return sorted((record["status"], known, why) for record, known, why in found), asked

    return made


def test_a_change_of_the_planner_judges_again_what_has_another_plan(code: Callable[..., None], run: Run) -> None:
    run(False)
    code(planner="another")
    found, asked = run(False, {"L1_2": "q"})
    same = "the planner or a template has changed, its plans have not"
    assert found == [("solved", False, "another plan or kernel"), ("solved", True, same)]
    assert asked == Counter({"L1_1 plan": 1, "L1_2 plan": 1, "L1_2": 1})
    found, asked = run(False)
    assert found == [("solved", True, "the same")] * 2
    assert not asked


def test_a_change_of_the_judge_judges_all_again(code: Callable[..., None], run: Run) -> None:
    run(False)
    code(judge="another")
    found, asked = run(False)
    assert found == [("solved", False, "checker, compiler, machine or judge have changed")] * 2
    assert asked == Counter({"L1_1": 1, "L1_2": 1})


def test_a_change_of_the_clock_times_again_and_judges_nothing(code: Callable[..., None], run: Run) -> None:
    run(True)
    code(clock="another")
    found, asked = run(False)
    assert (found, asked) == ([("solved", True, "the same")] * 2, Counter())
    found, asked = run(True)
    assert found == [("solved", False, "the clock has changed")] * 2
    assert asked == Counter({"L1_1 only": 1, "L1_2 only": 1})
    assert run(True)[0] == [("solved", True, "the same")] * 2


def test_what_was_only_timed_is_judged_when_that_is_asked(code: Callable[..., None], run: Run) -> None:
    assert run("only")[0] == [("timed", False, "no record")] * 2
    assert run(False)[0] == [("solved", False, "timed, not judged")] * 2


def test_a_summary_shows_nothing_that_does_not_hold(
    code: Callable[..., None], run: Run, tasks: list[TaskFile], tmp_path: Path
) -> None:
    run(True)
    file = tmp_path / "records.jsonl"
    assert len(list(campaign(tasks, "f32", file, [], "plan"))) == 2
    code(planner="another")
    assert not list(campaign(tasks, "f32", file, [], "plan"))  # not known before plans are made
    assert len(run("plan", {"L1_2": "q"})[0]) == 1
    code(planner="another", judge="another")
    assert [record["status"] for record, _, _ in campaign(tasks[:1], "f32", file, [Asker(Counter())], "only")] == [
        "timed"
    ]
    assert not list(campaign(tasks, "f32", file, [], "plan"))


def test_parts_of_a_record_that_hold() -> None:
    rests = {"task": "t", "judge": "judge", "clock": "clock", "planner": "planner", "plan": "p", "reduced": "r"}
    record = {"status": "solved", "launches": 2, "error": 0.0, "simulated_us": 3.0, "rests": rests}
    assert standing(record, "t", NOW) == record
    assert standing(record, "another", NOW) is None
    assert standing(record, "t", replace(NOW, planner="another")) is None
    other_clock = standing(record, "t", replace(NOW, clock="another"))
    assert other_clock is not None
    assert (other_clock["status"], "simulated_us" in other_clock) == ("solved", False)
    other_judge = standing(record, "t", replace(NOW, judge="another"))
    assert other_judge is not None
    assert (other_judge["status"], "error" in other_judge) == ("timed", False)
    assert standing(record, "t", CodeNow("another", "another", "planner")) is None
    refused = {"status": "refused", "rests": {name: rests[name] for name in ("task", "judge", "clock", "planner")}}
    assert needed(refused, "t", NOW, True).what == "nothing"
    assert needed(refused, "t", replace(NOW, planner="another"), True).what == "judge"


def test_compacted_keeps_the_last_line_of_a_task(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    for number, status in ((2, "wrong"), (1, "solved"), (2, "solved")):
        append(file, {"level": 1, "task": number, "dtype": "f32", "status": status, "rests": {}, "machine": {}})
    before = records(file)
    compacted(file)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(line["task"], line["status"]) for line in lines] == [(1, "solved"), (2, "solved")]
    assert all("machine" not in line for line in lines)
    assert set(records(file)) == set(before)


def test_numbers_of_tasks() -> None:
    assert numbers_of("19") == (19,)
    assert numbers_of("1,3,40-42") == (1, 3, 40, 41, 42)
    with pytest.raises(ValueError, match="invalid literal"):
        numbers_of("one")


def test_what_a_judgement_depends_on() -> None:
    """Checker, compiler, machine and runner; not the clock, not the search for counterexamples, and not what has a say
    through plans alone."""
    judge, clock = reached([WORKER], without=[CLOCK, REFUTERS]), reached([CLOCK], without=[REFUTERS])
    needed_by_both = {"argus.check.engine", "argus.compile.compiler", "argus.pipeline", "argus.ir.kernel"}
    assert needed_by_both | {"argus.plan.runner", "argus.torch.compiled", "argus.ops.launch"} <= judge
    assert not any(name.startswith("argus.clock") for name in judge)
    assert {"argus.check.explain.small_executions", "argus.check.explain.witness"} <= judge, "inputs of executed proofs"
    assert not {name for name in judge if name.endswith(("_witness", ".refuters"))}
    assert not judge & {"argus.plan.products", "argus.plan.planner", "argus.torch.aten", "argus.ops.choice"}
    assert "argus.clock.sampled" in clock
