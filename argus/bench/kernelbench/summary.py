"""What a campaign found: a line per task, and counts by level and family.

    read_eager(Path("eager.csv"))      {"L1_19": 2160.0, ...}: microseconds, from columns `task` and `eager_min_ms`

Measured eager times are bf16 measurements on a GPU, given as a file; ours are simulated. `measured / simulated`
says how much faster the plan would be, as far as the clock is right: its interval stands beside it.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STATUSES = ("solved", "timed", "unsampled", "wrong", "unproved", "refused", "failed")


def read_eager(file: Path) -> dict[str, float]:
    """Measured times in microseconds by task; raises ValueError where a column is missing."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    if rows and not {"task", "eager_min_ms"} <= set(rows[0]):
        raise ValueError(f"{file} has no columns task and eager_min_ms")
    return {row["task"]: 1e3 * float(row["eager_min_ms"]) for row in rows if row["eager_min_ms"]}


def line(record: Mapping[str, Any], eager: Mapping[str, float]) -> str:
    """One task in a line."""
    name = f"L{record['level']}_{record['task']}"
    head = f"{name:7} {record['name'][:44]:44} {record['status']:8}"
    if record["status"] not in ("solved", "timed"):
        return f"{head} {record['code']} {record['reason']}"
    text = f"{head} {record['launches']:3} launches"
    if record["status"] == "timed":
        text += ", nothing proved or run"
    else:
        text += f", {record['proved']}/{record['kernels']} kernels proved"
        text += f", error {record['error']:.1e} in {record['cases']} cases"
    if "full_size" in record:
        full = record["full_size"]
        text += f", {full['elements']} elements of {full['blocks']} workgroups right at full size"
    if "simulated_us" not in record:
        return text
    text += f", {record['simulated_us']:.1f} us ({record['low_us']:.1f} to {record['high_us']:.1f}, simulated)"
    measured = eager.get(name)
    if measured is None:
        return f"{text}, eager none"
    return f"{text}, eager {measured:.1f} us (measured), {measured / record['simulated_us']:.2f}"


def summary(records: Sequence[Mapping[str, Any]], eager: Mapping[str, float]) -> list[str]:
    """Counts by level, then by level and family."""
    lines = []
    for level in sorted({record["level"] for record in records}):
        here = [record for record in records if record["level"] == level]
        lines.append(f"level {level}: {_counts(here)}{_ratio(here, eager)}")
        for family in sorted({record.get("family", "not exported") for record in here}):
            part = [record for record in here if record.get("family", "not exported") == family]
            lines.append(f"  {family:14} {_counts(part)}{_ratio(part, eager)}")
    return lines


def _counts(records: Sequence[Mapping[str, Any]]) -> str:
    found = {status: sum(record["status"] == status for record in records) for status in STATUSES}
    listed = ", ".join(f"{count} {status}" for status, count in found.items() if count)
    return f"{len(records)} tasks: {listed}"


def _ratio(records: Sequence[Mapping[str, Any]], eager: Mapping[str, float]) -> str:
    """The geometric mean of measured eager over simulated, of the tasks that have both, at both ends of the clock's
    intervals, too; a task is not slower unless even the low end of its interval is above the measured time."""
    both = [
        (eager[f"L{record['level']}_{record['task']}"], record)
        for record in records
        if "simulated_us" in record and f"L{record['level']}_{record['task']}" in eager
    ]
    if not both:
        return ""
    mean, least, most = (
        math.exp(sum(math.log(measured / record[key]) for measured, record in both) / len(both))
        for key in ("simulated_us", "high_us", "low_us")
    )
    level = sum(measured >= record["low_us"] for measured, record in both)
    means = f"{mean:.2f} ({least:.2f} to {most:.2f}, geometric mean of {len(both)})"
    return f"; measured eager / simulated {means}, not slower {level}"
