"""All tasks, a few at a time, with a file of records that a later run, or another sitting, goes on from.

    for record, known, why in campaign(tasks, "f32", Path("records.jsonl"), [TaskProcess(), TaskProcess()]): ...

A record is a line of JSON, written whole and flushed as soon as its task is judged; a line that a kill has cut off is
dropped, and of several lines of one task the last counts. What of a record still holds is decided part by part
(`holding`): only what does not is done again, and nothing stale is shown. Every asker (`asking`) has one task at a
time; records come in the order in which tasks are done, those that hold as they are first. `compacted` leaves one line
a task.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from argus.bench.kernelbench.asking import TaskAsker
from argus.bench.kernelbench.holding import (
    TIMES,
    CodeNow,
    RecordNeed,
    code_now,
    needed,
    same_plans,
    standing,
    task_digest,
)
from argus.bench.kernelbench.task_files import TaskFile, Timing

Known = dict[tuple[str, str], dict[str, Any]]
SAME_PLANS = "the planner or a template has changed, its plans have not"


class TaskRecord(NamedTuple):
    """A record, whether it was known (nothing was proved, run or timed for it), and why it was kept or made."""

    record: dict[str, Any]
    known: bool
    why: str


def campaign(
    tasks: Sequence[TaskFile], dtype: str, file: Path, askers: Sequence[TaskAsker], timed: Timing = True
) -> Iterator[TaskRecord]:
    """The record of every task. With `timed="plan"` nothing is judged or timed: the records that hold. Without askers,
    those that hold as they are."""
    known, now = records(file), code_now()
    missing: list[tuple[TaskFile, dict[str, Any] | None]] = []
    for task in tasks:
        record = known.get((task.id, dtype))
        need = needed(record, task_digest(task), now, asked_for(record, timed))
        if record is not None and need.what == "nothing":
            yield TaskRecord(_shown(record, task, now), True, "the same")
        elif timed != "plan" or need.what == "plan":
            missing.append((task, record))
    if not askers:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    for task, found, held, why in judged_by(askers, missing, dtype, timed, now):
        if found is not None:
            append(file, found)
            yield TaskRecord(_shown(found, task, now), held, why)


def _shown(record: dict[str, Any], task: TaskFile, now: CodeNow) -> dict[str, Any]:
    """The record as far as it holds; one that was just made does."""
    return standing(record, task_digest(task), now) or record


Done = tuple[TaskFile, dict[str, Any] | None, bool, str]


def judged_by(
    askers: Sequence[TaskAsker],
    tasks: Sequence[tuple[TaskFile, dict[str, Any] | None]],
    dtype: str,
    timed: Timing,
    now: CodeNow,
) -> Iterator[Done]:
    """Tasks with their records, as they are done. What an asker raises is raised here; no task is begun after that."""
    waiting: SimpleQueue[tuple[TaskFile, dict[str, Any] | None]] = SimpleQueue()
    done: SimpleQueue[Done | Exception] = SimpleQueue()
    over = threading.Event()
    for each in tasks:
        waiting.put(each)

    def work(asker: TaskAsker) -> None:
        while not over.is_set():
            try:
                task, record = waiting.get_nowait()
            except Empty:
                return
            try:
                done.put((task, *brought_up(asker, task, record, dtype, timed, now)))
            except Exception as error:
                done.put(error)
                return

    threads = [threading.Thread(target=work, args=(asker,), daemon=True) for asker in askers]
    for thread in threads:
        thread.start()
    try:
        for _ in tasks:
            found = done.get()
            if isinstance(found, Exception):
                raise found
            yield found
    finally:
        over.set()


def asked_for(record: Mapping[str, Any] | None, timed: Timing) -> Timing:
    """What is asked of a record; where plans alone are compared, what it has."""
    if timed != "plan":
        return timed
    return "only" if record is not None and record["status"] == "timed" else False


def brought_up(
    asker: TaskAsker, task: TaskFile, record: dict[str, Any] | None, dtype: str, timed: Timing, now: CodeNow
) -> tuple[dict[str, Any] | None, bool, str]:
    """The record of a task as of now, its plans compared, its time or its whole judgement made again; whether it was
    known; why. None where it would have to be made and is not to be."""
    digest, wanted = task_digest(task), asked_for(record, timed)
    need = needed(record, digest, now, wanted)
    if need.what == "plan":
        assert record is not None
        if same_plans(record, asker.ask(task, dtype, "plan"), wanted):
            record = {**record, "rests": {**record["rests"], "planner": now.planner}}
            need = needed(record, digest, now, wanted)
            if need.what == "nothing":
                return record, True, SAME_PLANS
        else:
            need = RecordNeed("judge", "another plan or kernel")
    if timed == "plan":
        return None, False, need.why
    if need.what == "time":
        assert record is not None
        again = asker.ask(task, dtype, "only")
        if again["status"] == "timed" and again["rests"]["plan"] == record["rests"]["plan"]:
            times = {name: again[name] for name in TIMES}
            return {**record, **times, "rests": {**record["rests"], "clock": now.clock}}, False, need.why
    made = asker.ask(task, dtype, timed)
    rests = {"task": digest, "judge": now.judge, "clock": now.clock, "planner": now.planner}
    return {**made, "rests": {**rests, **made.get("rests", {})}}, False, need.why


def records(file: Path) -> Known:
    """What was judged before, by task and element type; a line that is not whole is passed over."""
    found: Known = {}
    if not file.is_file():
        return found
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
            name = f"L{record['level']}_{record['task']}"
            found[name, record["dtype"]] = {**record, "rests": dict(record["rests"])}
        except (ValueError, KeyError, TypeError):
            continue
    return found


def append(file: Path, record: Mapping[str, Any]) -> None:
    """One line more; after a cut-off line it starts a new one."""
    with file.open("ab+") as out:
        if out.tell():
            out.seek(-1, 2)
            if out.read(1) != b"\n":
                out.write(b"\n")
        out.write(json.dumps(record).encode() + b"\n")
        out.flush()


def compacted(file: Path) -> None:
    """Leave the last record of every task, by level and number, without the machine it was made on."""
    kept = sorted(records(file).values(), key=lambda record: (record["dtype"], record["level"], record["task"]))
    lines = [json.dumps({name: value for name, value in record.items() if name != "machine"}) for record in kept]
    made = file.with_name(f"{file.name}.{os.getpid()}")
    made.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    made.replace(file)
