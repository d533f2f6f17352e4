"""A technique as code: what its transformation changes in a kernel, as a diff.

    sketch("lds-swizzle", "gemm").diff       --- gemm, register-blocking, lds-staging
                                             +++ lds-swizzle swizzle=auto
                                             -LDS_A = ag.Layout(row=(128, 128), k=(64, 2))
                                             +LDS_A = ag.Layout(row=(128, 128), chunk=(8, 16), …).xor(chunk="row[0:3]")

The kernel is the one at hand where the technique has a place in it, else the naive kernel of a task of the family with
the prerequisites applied. Nothing is written by hand, so a sketch is as right as the transformation, which the judge
tries in every run. Entries without a transformation have prose only.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from argus.agent.lower import NotApplicableError, lower
from argus.agent.lower.source import Source
from argus.agent.planner import attempt
from argus.agent.selector import closure
from argus.knowledge import KnowledgeEntry, load
from argus.tasks.task import builtin_tasks, load_task

CONTEXT = 2
LONGEST = 5_000


@dataclass(frozen=True, slots=True)
class TechniqueSketch:
    """`of` is the kernel it was made from, with what had been done to it; `attempt` the technique with parameters."""

    of: str
    attempt: str
    diff: str


def sketch(technique: str, family: str | None = None, source: str | None = None) -> TechniqueSketch | None:
    """What the technique does to `source`, or to a naive kernel of the family; None if it is not shown by any."""
    entry = load()[technique]
    if not entry.lowered:
        return None
    if source is not None:
        for params, changed in _lowered(source, entry):
            return _made("the current file", entry, params, source, changed)
    return _of_family(technique, family)


@cache
def _of_family(technique: str, family: str | None) -> TechniqueSketch | None:
    entry = load()[technique]
    tasks = [load_task(name) for name in builtin_tasks()]
    wanted = [task for task in tasks if family is None or task.family == family]
    for task in wanted or tasks:
        text, done = Source(task.source).text(), [task.name]
        for before in closure(entry, (), load()):
            for _, changed in _lowered(text, before):
                text, done = changed, [*done, before.id]
                break
        for params, changed in _lowered(text, entry):
            return _made(", ".join(done), entry, params, text, changed)
    return None


def _lowered(text: str, entry: KnowledgeEntry) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The texts its parameter sets make, those that change something."""
    for params in entry.choices if entry.lowered else ():
        try:
            changed = lower(text, entry.id, params)
        except NotApplicableError:
            continue
        if changed != Source(text).text():
            yield params, changed


def _made(of: str, entry: KnowledgeEntry, params: Mapping[str, Any], before: str, after: str) -> TechniqueSketch:
    name = attempt(entry.id, params)
    lines = list(
        difflib.unified_diff(Source(before).text().splitlines(), after.splitlines(), of, name, lineterm="", n=CONTEXT)
    )
    text = "\n".join(lines)
    return TechniqueSketch(of, name, text if len(text) <= LONGEST else text[:LONGEST] + "\n… and more")
