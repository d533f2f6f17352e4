"""Published times as rows, and the line of JSON a simulated row becomes."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from argus.clock import Launch, Parameters, Recorded, time_recorded

Timer = Callable[[Parameters], Launch]
"""The launch of a row under given parameters of the clock."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One published time. `shape` groups rows that did the same work, `program` names what ran."""

    role: str
    family: str
    program: str
    shape: str
    flops: float
    bytes: float
    element: str
    microseconds: float
    source: str


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
        "curve": launch.curve.to_json(),
        "bound": launch.bound,
        "parts": dict(launch.parts),
        "notes": list(launch.notes),
    }


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["role"] in ("fit", "validate")]


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"no {pattern!r} in {text!r}")
    return int(found[1])
