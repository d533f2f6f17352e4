"""A journal loses nothing, changes nothing and continues what was begun."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from argus.agent.journal import Journal, JournalError
from tests.agent_journal.search import climb

STEPS = 120


def test_events_are_read_back_in_order(tmp_path: Path) -> None:
    with Journal.write(tmp_path) as journal:
        run = journal.begin("gemm", {"seed": 3})
        for step in range(5):
            assert run.record(step, f"s{step}", "candidate", {"id": step}, {"ms": 1.5})
    with Journal.read(tmp_path) as journal:
        assert journal.info().config == {"seed": 3}
        assert [event.payload["id"] for event in journal.events(kind="candidate")] == list(range(5))
        assert [event.seq for event in journal.events(after=3)] == [4, 5]


def test_a_step_taken_again_is_compared(tmp_path: Path) -> None:
    with Journal.write(tmp_path) as journal:
        run = journal.begin("gemm", {})
        run.record(0, "a", "candidate", {"id": 1}, {"ms": 1})
        assert not run.record(0, "a", "candidate", {"id": 1}, {"ms": 2})
        for kind, payload in (("candidate", {"id": 2}), ("judgement", {"id": 1})):
            with pytest.raises(JournalError) as caught:
                run.record(0, "a", kind, payload)
            assert caught.value.code == "ARG-J104"


def test_events_cannot_be_changed(tmp_path: Path) -> None:
    with Journal.write(tmp_path) as journal:
        journal.begin("gemm", {}).record(0, "a", "candidate", {})
    raw = sqlite3.connect(tmp_path / "journal.sqlite")
    for statement in (
        "UPDATE event SET payload = '{}'",
        "DELETE FROM event",
        "DELETE FROM run",
        "UPDATE run SET task = ''",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            raw.execute(statement)


def test_one_writer_many_readers(tmp_path: Path) -> None:
    with Journal.write(tmp_path) as journal:
        journal.begin("gemm", {}).record(0, "a", "candidate", {})
        with pytest.raises(JournalError) as caught:
            Journal.write(tmp_path)
        assert caught.value.code == "ARG-J101"
        with Journal.read(tmp_path) as reader:
            assert len(list(reader.events())) == 1
            with pytest.raises(sqlite3.OperationalError):
                reader.begin("gemm", {})
    Journal.write(tmp_path).close()


def test_what_is_no_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalError) as caught:
        Journal.read(tmp_path)
    assert caught.value.code == "ARG-J102"
    (tmp_path / "journal.sqlite").write_bytes(b"not a database, but long enough to look like one " * 40)
    for opening in (Journal.read, Journal.write):
        with pytest.raises((JournalError, sqlite3.DatabaseError)):
            opening(tmp_path)


def test_missing_run(tmp_path: Path) -> None:
    with Journal.write(tmp_path) as journal:
        for name in (None, "x"):
            with pytest.raises(JournalError) as caught:
                journal.resume(name)
            assert caught.value.code == "ARG-J103"


def test_damaged_text_is_noticed(tmp_path: Path) -> None:
    with Journal.write(tmp_path) as journal:
        name = journal.put("kernel")
        assert journal.put("kernel") == name
        assert journal.text(name) == "kernel"
        journal.blobs.path(name).write_text("kernal")
        with pytest.raises(JournalError) as caught:
            journal.text(name)
        assert caught.value.code == "ARG-J105"


def test_views(tmp_path: Path) -> None:
    with Journal.write(tmp_path) as journal:
        run = journal.begin("gemm", {})
        run.record(0, "c", "candidate", {"id": "c0", "parent": None, "technique": "naive"})
        broken = [{"rule": "race_free", "line": 12, "message": "m"}, {"rule": "fresh", "line": 13, "message": "n"}]
        times = {"M=1": 10.5, "M=2": 20.0}
        payload = {"candidate": "c0", "verdict": "fail", "violations": broken, "times": times, "evidence": "e"}
        run.record(0, "j", "judgement", payload)
    raw = sqlite3.connect(tmp_path / "journal.sqlite")
    assert raw.execute("SELECT rule, line FROM violation ORDER BY line").fetchall() == [
        ("race_free", 12),
        ("fresh", 13),
    ]
    assert raw.execute("SELECT shape, microseconds FROM measure ORDER BY shape").fetchall() == [
        ("M=1", 10.5),
        ("M=2", 20.0),
    ]
    assert raw.execute("SELECT technique FROM candidate").fetchall() == [("naive",)]
    assert raw.execute("SELECT verdict, evidence FROM judgement").fetchall() == [("fail", "e")]


def test_killed_again_and_again_the_answer_is_the_same(tmp_path: Path) -> None:
    expected, _ = climb(tmp_path / "quiet", STEPS)
    chance = random.Random(7)
    folder = tmp_path / "killed"
    kills = 0
    while True:
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.agent_journal.search", str(folder), str(STEPS)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            out, _ = child.communicate(timeout=chance.uniform(0.15, 0.6) if kills < 12 else 120)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.communicate()
            kills += 1
            continue
        break
    assert child.returncode == 0
    assert int(out.split()[0]) == expected
    with Journal.read(folder) as journal, Journal.read(tmp_path / "quiet") as quiet:
        seen = [(event.key, event.payload) for event in journal.events()]
        assert seen == [(event.key, event.payload) for event in quiet.events()]
