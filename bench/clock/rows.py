"""Published times as rows, and the line of JSON a simulated row becomes.

How a time was taken is in the notes of its row. Two things in them matter to a clock that predicts one launch at a
sustained clock. `replay gap`: 30 graphs of one launch each, replayed back to back, with some 4 to 5 us between them; of
`REPLAY_GAP` the launch floor is already in the prediction, the rest is taken off. `warm-up 200ms` (or more) against
five launches on an idle chip: where both were published, the first counts (one kernel at 4096: 392 us and 422 to 431).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from argus.clock import PARAMETERS, Launch, Parameters, Recorded, time_recorded
from argus.clock.calibration import launch_line

REPLAY_GAP = 4.5
WARMED_MS = 200

Timer = Callable[[Parameters], Launch]
"""The launch of a row under given parameters of the clock."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One published time. `shape` groups rows that did the same work, `program` names what ran.

    runs   the times of all published runs, if there are several (`microseconds`: their median)
    """

    role: str
    family: str
    program: str
    shape: str
    flops: float
    bytes: float
    element: str
    microseconds: float
    source: str
    runs: tuple[float, ...] = ()


def timer(row: Measured, recorded: Recorded, **options: Any) -> Timer:
    """Times the recorded sample as the launch of that row."""

    def time(parameters: Parameters) -> Launch:
        return time_recorded(
            recorded,
            flops=row.flops,
            hbm_bytes=row.bytes,
            element=row.element,
            parameters=parameters,
            **options,
        )[1]

    return time


def line(row: Measured, launch: Launch) -> dict[str, Any]:
    """The row with its simulation."""
    return {
        **asdict(row),
        "launches": [launch_line(row.program, launch)],
        "notes": list(launch.notes),
    }


def without_gap(row: dict[str, str]) -> float:
    """The published time in us, less what its replay gap has beyond the launch floor."""
    gapped = "replay gap" in row["notes"] or row["notes"].startswith("as above")
    return float(row["value"]) - (REPLAY_GAP - PARAMETERS["launch_floor_graph"] if gapped else 0.0)


def warmed_up(row: dict[str, str]) -> bool:
    """Whether the chip was busy for at least 200 ms before the time was taken."""
    return any(int(time) >= WARMED_MS for time in re.findall(r"warm-up (\d+) ?ms", row["notes"]))


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["role"] in ("fit", "validate")]


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"no {pattern!r} in {text!r}")
    return int(found[1])
