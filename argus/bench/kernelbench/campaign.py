"""All tasks one after the other, with a file of records that a later run goes on from.

    for record in campaign(tasks, "f32", Path("out/kernelbench.jsonl")): ...

A record is a line of JSON, written whole and flushed before the next task starts; a line that was cut off by a kill is
dropped. A record counts as long as the task's file and everything the judgement rests on (`argus.provenance`) are the
same, so that nothing is judged twice and nothing stale is shown. A worker that dies is started again for the next task;
the task it died of is recorded as failed.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from argus.bench.kernelbench.task_files import TaskFile
from argus.provenance import digest

WORKER = "argus.bench.kernelbench.worker"


def campaign(
    tasks: Sequence[TaskFile], dtype: str, file: Path, timed: bool = True
) -> Iterator[tuple[dict[str, Any], bool]]:
    """The record of every task, and whether it was there already."""
    known = records(file)
    worker: TaskWorker | None = None
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        for task in tasks:
            key = key_of(task, dtype, timed)
            if key in known:
                yield known[key], True
                continue
            worker = worker if worker is not None and worker.alive else TaskWorker()
            record = {**worker.ask(task, dtype, timed), "key": key}
            append(file, record)
            yield record, False
    finally:
        if worker is not None:
            worker.close()


def key_of(task: TaskFile, dtype: str, timed: bool) -> str:
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


class TaskWorker:
    """A process that judges one task after the other."""

    def __init__(self) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", WORKER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, task: TaskFile, dtype: str, timed: bool) -> dict[str, Any]:
        """The record of a task; if the process dies of it, that is its record."""
        known = {"level": task.level, "task": task.number, "name": task.name, "dtype": dtype}
        request = {**known, "path": str(task.path.resolve()), "timed": timed}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if answer:
            found: dict[str, Any] = json.loads(answer)
            return found
        code = self._process.wait()
        return {
            **known,
            "status": "failed",
            "code": "ARG-G109",
            "reason": f"the worker ended with {code}: {self._last()}",
        }

    def _last(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "no message"

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._errors.close()
