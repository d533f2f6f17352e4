"""The policy between runs: a table in JSON (`policy.json`) and the same as a text beside it (`policy.json.md`).

    policy = read_policy(path)            what a run starts from; nothing where there is no file
    leave(learnt, run, path)              what it has learnt, added to the files as they then stand

A run adds only its own outcomes, and only once: the files say which runs they have learnt from, so a run that is gone
on with, or another one that ends meanwhile, loses and doubles nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from argus.agent.lessons import document, notes
from argus.agent.policy import PolicyError, PolicyTable, merged


def read_policy(path: Path) -> PolicyTable:
    """The policy a file holds, with the notes of the text beside it; a missing file is an empty policy."""
    found = PolicyTable()
    if path.is_file():
        try:
            found = PolicyTable.from_json(json.loads(path.read_text(encoding="utf-8")), str(path))
        except json.JSONDecodeError as error:
            raise PolicyError(f"{path}: {error}") from error
    text = text_beside(path)
    if text.is_file():
        found.notes = notes(text.read_text(encoding="utf-8"), str(text))
    return found


def write_policy(policy: PolicyTable, path: Path) -> None:
    """Table and text, each written beside and moved into place."""
    for target, content in (
        (path, json.dumps(policy.to_json(), indent=1) + "\n"),
        (text_beside(path), document(policy)),
    ):
        beside = target.with_name(target.name + ".new")
        beside.write_text(content, encoding="utf-8")
        beside.replace(target)


def leave(learnt: PolicyTable, run: str, path: Path) -> None:
    """Add what a run has learnt; runs that end at the same time come one after the other."""
    with alone(path.parent):
        held = read_policy(path)
        if learnt.updates and run not in held.runs:
            both = merged([held, learnt])
            both.runs.append(run)
            write_policy(both, path)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def text_beside(path: Path) -> Path:
    return path.with_name(path.name + ".md")
