"""Rows of the dispatch table of decision points: `argus/kernels/choices.json`.

A row has the decision, the shape class and what to take there; `us`, `low`, `high`: simulated time of the launches that
depend on it, and its interval; `default` and `default_us`: the rule's answer; `tried`: every alternative with its time,
or why it has none; `paired`: the ratio to the rule's under perturbed clocks (both null where the rule's answer does not
compile); `kernels`: those that the alternative launches, each with the number of claims that were proved of it and a
digest of its text; `clock`: the model's version.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from argus.agent.tuning.tuner import TunedPoint
from argus.ops.choice import KERNELS
from argus.plan.choices import DispatchRow, point_name

TABLE = KERNELS / "choices.json"
RULE = (
    "a row answers the shape classes that have all of its entries; what no row answers is decided by a rule "
    "(argus/plan/choices.py)"
)
FIELDS = (
    "decision", "shape", "take", "us", "low", "high", "default", "default_us", "tried", "paired", "kernels", "clock",
)  # fmt: skip


def merged(rows: Iterable[DispatchRow], found: Iterable[DispatchRow]) -> list[DispatchRow]:
    """The rows, those of the same class replaced by new ones."""
    by_name = {point_name(row["decision"], row["shape"]): row for row in (*rows, *found)}
    return [by_name[name] for name in sorted(by_name)]


def text(rows: Sequence[DispatchRow]) -> str:
    """The file: a row a line."""
    lines = ",\n".join(f"  {json.dumps({name: row[name] for name in FIELDS})}" for row in rows)
    return f'{{\n "rule": {json.dumps(RULE)},\n "rows": [\n{lines}\n ]\n}}\n'


def write(found: Iterable[DispatchRow], path: Path = TABLE) -> None:
    """Put rows into the table."""
    known: Sequence[DispatchRow] = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    path.write_text(text(merged(known, found)), encoding="utf-8")


def tuned_json(found: TunedPoint) -> dict[str, Any]:
    """A tuned point as plain data."""
    return {
        "decision": found.point.decision,
        "shape": dict(found.point.shape),
        "default": dict(found.point.default),
        "taken": dict(found.point.taken),
        "taken_us": round(found.taken_us, 2),
        "tried": found.tried,
        "why": found.why,
        "row": found.row,
    }
