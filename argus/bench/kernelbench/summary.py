"""What a campaign found: a line per task, and counts by level and family.

    read_eager(Path("eager.csv"))      {"L1_19": 2160.0, ...}: microseconds, from columns `task` and `eager_min_ms`

Measured eager times are bf16 measurements on a GPU, given as a file; ours are simulated. `measured / simulated`
says how much faster the plan would be, as far as the clock is right: its interval stands beside it.
`table` has the same counts as rows of Markdown, with the tasks of a level that no record holds for; `each_task` has a
row for every task. Published times of other kernels stand beside ours there, and make no ratio with simulated ones.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

STATUSES = ("solved", "timed", "unsampled", "wrong", "unproved", "refused", "failed")


def read_eager(file: Path) -> dict[str, float]:
    """Measured times in microseconds by task; raises ValueError where a column is missing."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    if rows and not {"task", "eager_min_ms"} <= set(rows[0]):
        raise ValueError(f"{file} has no columns task and eager_min_ms")
    return _microseconds(rows, "eager_min_ms")


def read_published(file: Path) -> dict[str, float]:
    """Published times of another system's kernels, by task, as far as the file has them (`published_kernel_min_ms`)."""
    with file.open(encoding="utf-8", newline="") as lines:
        return _microseconds(list(csv.DictReader(lines)), "published_kernel_min_ms")


def _microseconds(rows: Sequence[Mapping[str, str]], column: str) -> dict[str, float]:
    return {row["task"]: 1e3 * float(row[column]) for row in rows if row.get(column)}


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


HEADS = (
    "level", "family", "tasks", "solved", "proved", "right", "timed", "measured eager / simulated, geometric mean",
    "not slower", "not solved", "no record that holds",
)  # fmt: skip


def table(
    records: Sequence[Mapping[str, Any]], eager: Mapping[str, float], tasks: Mapping[int, Sequence[int]]
) -> list[str]:
    """Rows of Markdown by level and family; `tasks`: the numbers of all tasks of a level. A family is known of tasks
    that have a record."""
    lines = [f"| {' | '.join(HEADS)} |", "|" + "---|" * len(HEADS)]
    for level, numbers in tasks.items():
        here = [record for record in records if record["level"] == level]
        for family in sorted({record.get("family", "not exported") for record in here}):
            part = [record for record in here if record.get("family", "not exported") == family]
            lines.append(_cells(level, family, len(part), part, eager, ""))
        missing = sorted(set(numbers) - {record["task"] for record in here})
        lines.append(_cells(level, "*all*", len(numbers), here, eager, _listed(missing)))
    return lines


EACH = (
    "task", "name", "status", "launches", "simulated, µs", "measured eager, µs", "measured / simulated",
    "published kernel, µs",
)  # fmt: skip


def each_task(
    records: Sequence[Mapping[str, Any]], eager: Mapping[str, float], published: Mapping[str, float]
) -> list[str]:
    """Rows of Markdown by task."""
    lines = [f"| {' | '.join(EACH)} |", "|" + "---|" * len(EACH)]
    for record in records:
        name, measured = f"L{record['level']}_{record['task']}", eager.get(f"L{record['level']}_{record['task']}")
        ours, ratio = "", ""
        if "simulated_us" in record:
            ours = f"{record['simulated_us']:.0f} ({record['low_us']:.0f} to {record['high_us']:.0f})"
            ratio = "" if measured is None else f"{measured / record['simulated_us']:.2f}"
        cells = (
            name, record["name"].strip("_"), record["status"], record.get("launches", ""), ours,
            "none" if measured is None else f"{measured:.0f}", ratio,
            f"{published[name]:.0f}" if name in published else "none",
        )  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def _cells(
    level: int, family: str, count: int, records: Sequence[Mapping[str, Any]], eager: Mapping[str, float], missing: str
) -> str:
    judged = [record for record in records if record["status"] != "timed"]
    proved = sum(record.get("unknown") == 0 for record in judged)
    right = sum(record["status"] == "solved" for record in judged)
    timed = sum("simulated_us" in record for record in records)
    found = means(records, eager)
    ratio, level_with = ("", "") if found is None else (found.text(), f"{found.not_slower} of {found.tasks}")
    others = ", ".join(
        f"{record['task']} {record['status']}" for record in judged if record["status"] not in ("solved", "timed")
    )
    cells = (level, family, count, right, proved, right, timed, ratio, level_with, others, missing)
    return f"| {' | '.join(map(str, cells))} |"


def _listed(numbers: Sequence[int]) -> str:
    """`1, 3, 40–49`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def _counts(records: Sequence[Mapping[str, Any]]) -> str:
    found = {status: sum(record["status"] == status for record in records) for status in STATUSES}
    listed = ", ".join(f"{count} {status}" for status, count in found.items() if count)
    return f"{len(records)} tasks: {listed}"


class Means(NamedTuple):
    """Geometric means of measured eager over simulated, with every task at the high and the low end of its interval,
    too; a task is not slower unless even the low end of its interval is above the measured time."""

    tasks: int
    mean: float
    least: float
    most: float
    not_slower: int

    def text(self) -> str:
        return f"{self.mean:.2f} ({self.least:.2f} to {self.most:.2f})"


def means(records: Sequence[Mapping[str, Any]], eager: Mapping[str, float]) -> Means | None:
    """Of the tasks that have both times; None where none has."""
    both = [
        (eager[f"L{record['level']}_{record['task']}"], record)
        for record in records
        if "simulated_us" in record and f"L{record['level']}_{record['task']}" in eager
    ]
    if not both:
        return None
    mean, least, most = (
        math.exp(sum(math.log(measured / record[key]) for measured, record in both) / len(both))
        for key in ("simulated_us", "high_us", "low_us")
    )
    return Means(len(both), mean, least, most, sum(measured >= record["low_us"] for measured, record in both))


def _ratio(records: Sequence[Mapping[str, Any]], eager: Mapping[str, float]) -> str:
    found = means(records, eager)
    if found is None:
        return ""
    stated = f"{found.mean:.2f} ({found.least:.2f} to {found.most:.2f}, geometric mean of {found.tasks})"
    return f"; measured eager / simulated {stated}, not slower {found.not_slower}"
