"""All tasks, a few at a time, with a file of records that a later run goes on from.

    for record, known in campaign(tasks, "f32", Path("out/kernelbench.jsonl"), [TaskProcess(), TaskProcess()]): ...

A record is a line of JSON, written whole and flushed as soon as its task is judged; a line that a kill has cut off is
dropped. A record counts as long as the task's file and everything the judgement rests on (`argus.provenance`) are the
same, so that nothing is judged twice and nothing stale is shown. Every asker (`asking`) has one task at a time; records
come in the order in which tasks are done, those that were known first.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from argus.bench.kernelbench.asking import TaskAsker
from argus.bench.kernelbench.task_files import TaskFile, Timing
from argus.provenance import digest

WORKER = "argus.bench.kernelbench.worker"
Recorded = tuple[dict[str, Any], bool]


def campaign(
    tasks: Sequence[TaskFile], dtype: str, file: Path, askers: Sequence[TaskAsker], timed: Timing = True
) -> Iterator[Recorded]:
    """The record of every task, and whether it was there already."""
    known = records(file)
    keys = {task.id: key_of(task, dtype, timed) for task in tasks}
    yield from ((known[keys[task.id]], True) for task in tasks if keys[task.id] in known)
    missing = [task for task in tasks if keys[task.id] not in known]
    file.parent.mkdir(parents=True, exist_ok=True)
    for task, record in judged_by(askers, missing, dtype, timed):
        kept = {**record, "key": keys[task.id]}
        append(file, kept)
        yield kept, False


def judged_by(
    askers: Sequence[TaskAsker], tasks: Sequence[TaskFile], dtype: str, timed: Timing
) -> Iterator[tuple[TaskFile, dict[str, Any]]]:
    """Tasks with their records, as they are done. What an asker raises is raised here; no task is begun after that."""
    waiting: SimpleQueue[TaskFile] = SimpleQueue()
    done: SimpleQueue[tuple[TaskFile, dict[str, Any]] | Exception] = SimpleQueue()
    over = threading.Event()
    for task in tasks:
        waiting.put(task)

    def work(asker: TaskAsker) -> None:
        while not over.is_set():
            try:
                task = waiting.get_nowait()
            except Empty:
                return
            try:
                done.put((task, asker.ask(task, dtype, timed)))
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


def key_of(task: TaskFile, dtype: str, timed: Timing) -> str:
    """What a record depends on."""
    words = f"{task.id} {dtype} {timed} {digest(WORKER)}"
    return hashlib.sha256(words.encode() + task.path.read_bytes()).hexdigest()[:24]


def records(file: Path) -> dict[str, dict[str, Any]]:
    """What was judged before, by key; a line that is not whole is passed over."""
    found: dict[str, dict[str, Any]] = {}
    if not file.is_file():
        return found
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
            found[record["key"]] = record
        except (ValueError, KeyError, TypeError):
            continue
    return found


def append(file: Path, record: dict[str, Any]) -> None:
    """One line more; after a cut-off line it starts a new one."""
    with file.open("ab+") as out:
        if out.tell():
            out.seek(-1, 2)
            if out.read(1) != b"\n":
                out.write(b"\n")
        out.write(json.dumps(record).encode() + b"\n")
        out.flush()
