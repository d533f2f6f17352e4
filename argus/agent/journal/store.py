"""The journal: what an optimisation did, kept so that it can be stopped at any moment and resumed.

    with Journal.write(folder) as journal:
        run = journal.begin("gemm", {"seed": 0, …})
        run.record(0, "candidate:0", "candidate", {"id": "…", "source": journal.put(text)})

One process writes (it holds a lock for as long as it lives, so the lock cannot outlast it), any number read. `record`
has happened when it returns. Continuing a run means taking its steps again: a step that stands in the journal is
compared, not written twice, and what it cost to find out (`judged`) is read instead of being computed. A
step that comes out differently ends the run with an error, because then the program, not the run, has changed.
"""

from __future__ import annotations

import fcntl
import json
import platform
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from argus.agent.journal.blobs import Blobs
from argus.agent.journal.errors import JournalError
from argus.agent.journal.schema import TABLES, VERSION, VIEWS

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JournalEvent:
    """One row."""

    seq: int
    run: str
    step: int
    key: str
    kind: str
    payload: dict[str, Any]
    meta: dict[str, Any]
    at: str


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One run as it was begun."""

    id: str
    created: str
    task: str
    config: dict[str, Any]
    host: str


class Journal:
    """A folder with `journal.sqlite`, `blobs/` and, while somebody writes, a held `lock`."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: IO[str] | None) -> None:
        self.folder = folder
        self.blobs = Blobs(folder / "blobs")
        self._connection = connection
        self._lock = lock

    @classmethod
    def write(cls, folder: Path) -> Journal:
        """Open for writing; made if it is not there."""
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise JournalError(
                "ARG-J101", f"{folder}: another process writes here; wait for it or use another folder"
            ) from error
        try:
            connection = _connect(folder / "journal.sqlite", "rwc")
            _prepare(connection, folder)
        except BaseException:
            lock.close()
            raise
        return cls(folder, connection, lock)

    @classmethod
    def read(cls, folder: Path) -> Journal:
        """Open for reading, also while another process writes."""
        path = folder / "journal.sqlite"
        if not path.is_file():
            raise JournalError("ARG-J102", f"{folder}: there is no journal here")
        connection = _connect(path, "ro")
        _same_version(connection, folder)
        return cls(folder, connection, None)

    def close(self) -> None:
        self._connection.close()
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def put(self, text: str) -> str:
        """The name under which `text` is stored."""
        return self.blobs.put(text.encode())

    def text(self, digest: str) -> str:
        """The stored text called `digest`."""
        return self.blobs.get(digest).decode()

    def begin(self, task: str, config: Payload) -> Run:
        """A new run."""
        name = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{task}-{secrets.token_hex(2)}"
        with self._connection:
            self._connection.execute(
                "INSERT INTO run VALUES(?, ?, ?, ?, ?)", (name, _now(), task, _packed(config), platform.node())
            )
        return Run(self, name)

    def resume(self, name: str | None = None) -> Run:
        """The run called `name`, or the newest one, to be resumed."""
        return Run(self, self.info(name).id)

    def info(self, name: str | None = None) -> RunInfo:
        """How the run called `name`, or the only one whose name begins so, or the newest one, was begun."""
        runs = self.runs()
        if name is None:
            if not runs:
                raise JournalError("ARG-J103", f"{self.folder}: no run yet")
            return runs[-1]
        found = [run for run in runs if run.id == name] or [run for run in runs if run.id.startswith(name)]
        if len(found) > 1:
            listed = ", ".join(run.id for run in found)
            raise JournalError("ARG-J103", f"{self.folder}: {len(found)} runs begin with {name}: {listed}")
        if not found:
            raise JournalError("ARG-J103", f"{self.folder}: no run {name}")
        return found[0]

    def runs(self) -> list[RunInfo]:
        """All runs, oldest first."""
        rows = self._connection.execute("SELECT * FROM run ORDER BY rowid").fetchall()
        return [RunInfo(row[0], row[1], row[2], json.loads(row[3]), row[4]) for row in rows]

    def events(self, run: str | None = None, kind: str | None = None, after: int = 0) -> Iterator[JournalEvent]:
        """Events in their order, of one run and kind or of all, after a sequence number."""
        query = "SELECT seq, run, step, key, kind, payload, meta, at FROM event WHERE seq > ?"
        values: list[object] = [after]
        for column, value in (("run", run), ("kind", kind)):
            if value is not None:
                query += f" AND {column} = ?"
                values.append(value)
        for row in self._connection.execute(query + " ORDER BY seq", values).fetchall():
            yield _event(row)

    def event(self, run: str, key: str) -> JournalEvent | None:
        """The event of a run under that key."""
        query = "SELECT seq, run, step, key, kind, payload, meta, at FROM event WHERE run = ? AND key = ?"
        row = self._connection.execute(query, (run, key)).fetchone()
        return None if row is None else _event(row)

    def judged(self, question: str) -> list[JournalEvent]:
        """What the judge answered to `question` (a digest of source, task and judge) in all runs, oldest first."""
        query = (
            "SELECT seq, run, step, key, kind, payload, meta, at FROM event "
            "WHERE kind = 'judgement' AND json_extract(payload, '$.question') = ? ORDER BY seq"
        )
        return [_event(row) for row in self._connection.execute(query, (question,)).fetchall()]

    def _record(self, run: str, step: int, key: str, kind: str, payload: Payload, meta: Payload) -> bool:
        text = _packed(payload)
        with self._connection:
            known = self._connection.execute(
                "SELECT kind, payload FROM event WHERE run = ? AND key = ?", (run, key)
            ).fetchone()
            if known is None:
                self._connection.execute(
                    "INSERT INTO event(run, step, key, kind, payload, meta, at) VALUES(?, ?, ?, ?, ?, ?, ?)",
                    (run, step, key, kind, text, _packed(meta), _now()),
                )
                return True
        if known != (kind, text):
            raise JournalError(
                "ARG-J104",
                f"run {run}: step {step} ({key}) came out differently; the program has changed since it was begun",
            )
        return False


@dataclass(frozen=True, slots=True)
class Run:
    """The writing end of one run."""

    journal: Journal
    id: str

    def record(self, step: int, key: str, kind: str, payload: Payload, meta: Payload | None = None) -> bool:
        """Keep an event; False if it stood there already. `key` is unique within the run."""
        return self.journal._record(self.id, step, key, kind, payload, meta or {})


def _event(row: tuple[Any, ...]) -> JournalEvent:
    return JournalEvent(row[0], row[1], row[2], row[3], row[4], json.loads(row[5]), json.loads(row[6]), row[7])


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{path}?mode={mode}", uri=True, timeout=30)
    if mode == "rwc":
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _prepare(connection: sqlite3.Connection, folder: Path) -> None:
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            connection.executescript(f"BEGIN; {TABLES} {VIEWS} PRAGMA user_version = {VERSION}; COMMIT;")
    except sqlite3.DatabaseError as error:
        raise JournalError("ARG-J102", f"{folder}: {error}") from error
    _same_version(connection, folder)


def _same_version(connection: sqlite3.Connection, folder: Path) -> None:
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise JournalError("ARG-J102", f"{folder}: {error}") from error
    if version != VERSION:
        raise JournalError(
            "ARG-J102", f"{folder}: a journal of version {version}; this program reads version {VERSION}"
        )


def _packed(value: Payload) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
