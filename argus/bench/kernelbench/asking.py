"""Who judges a task: a process of this machine, or a worker of a Ray cluster.

    TaskProcess().ask(task, "f32", timed=False)         {"status": "solved", ...}
    ClusterTask(pool).ask(task, "f32", timed=False)     the same record, made by a worker of the pool

Either way the task's file is executed in a process of its own (`worker`). To a cluster the file travels as text. A
process that dies of a task gives it the record `failed`, and the next task gets a new process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, Protocol

from argus.bench.kernelbench.task_files import TaskFile, Timing
from argus.cluster import Pool, WorkerDiedError
from argus.cluster.work import machine

WORK = "argus.bench.kernelbench.asking:answer"
COMMAND = (sys.executable, "-W", "ignore", "-m", "argus.bench.kernelbench.worker")


class TaskAsker(Protocol):
    """Asked for one task at a time."""

    def ask(self, task: TaskFile, dtype: str, timed: Timing) -> dict[str, Any]: ...

    def close(self) -> None: ...


class TaskProcess:
    """A process that judges one task after the other; started when it is first asked, and again after it has died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`

    def ask(self, task: TaskFile, dtype: str, timed: Timing) -> dict[str, Any]:
        """The record of a task; if the process dies of it, that is its record."""
        process = self._alive()
        assert process.stdin is not None
        assert process.stdout is not None
        request = {**named(task, dtype), "path": str(task.path.resolve()), "timed": timed}
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if answer:
            return {**json.loads(answer), "machine": machine()}
        return failed(task, dtype, "ARG-G109", f"the worker ended with {process.wait()}: {self._last()}")

    def _alive(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=self._errors)
        return self._process

    def _last(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "no message"

    def close(self) -> None:
        """Ends the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self._errors.close()


class ClusterTask:
    """A task to a worker of a pool. A task that ends three workers in a row is `failed`; the others go on."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def ask(self, task: TaskFile, dtype: str, timed: Timing) -> dict[str, Any]:
        item = {**named(task, dtype), "timed": timed, "source": task.path.read_text(encoding="utf-8")}
        try:
            answer = self._pool.ask(WORK, item).result()
        except WorkerDiedError as error:
            return failed(task, dtype, error.code, error.message)
        return {**answer.value, "machine": dict(answer.machine)}

    def close(self) -> None:
        """The pool is its owner's."""


def answer(item: dict[str, Any]) -> dict[str, Any]:
    """What a worker of a cluster is asked for."""
    with tempfile.TemporaryDirectory(prefix="argus-task-") as folder:
        path = Path(folder) / f"{item['task']}_{item['name']}.py"
        path.write_text(item["source"], encoding="utf-8")
        process = TaskProcess()
        try:
            return process.ask(TaskFile(item["level"], item["task"], item["name"], path), item["dtype"], item["timed"])
        finally:
            process.close()


def named(task: TaskFile, dtype: str) -> dict[str, Any]:
    """How a record begins."""
    return {"level": task.level, "task": task.number, "name": task.name, "dtype": dtype}


def failed(task: TaskFile, dtype: str, code: str, reason: str) -> dict[str, Any]:
    return {**named(task, dtype), "status": "failed", "code": code, "reason": reason}
