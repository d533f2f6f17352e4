"""Published times as rows, and the line of JSON a simulated row becomes."""

from __future__ import annotations

import csv
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from argus.clock.launch import Launch


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
