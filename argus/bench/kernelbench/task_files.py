"""The tasks of a folder: `DIR/level1/19_ReLU.py`, or `DIR/KernelBench/level1/...`.

tasks_of(Path("KernelBench"), level=1)      [TaskFile(1, 1, "Square_matrix_multiplication_", ...), ...]
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

LEVELS = (1, 2)
Timing = bool | Literal["only", "plan"]
"""Whether a task is timed; `only`: it is planned and timed, nothing is proved or run; `plan`: planned alone."""


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task by level and number."""

    level: int
    number: int
    name: str
    path: Path

    @property
    def id(self) -> str:
        return f"L{self.level}_{self.number}"


def numbers_of(text: str) -> tuple[int, ...]:
    """`19` or `1,3,40-49`; raises ValueError."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def tasks_of(folder: Path, level: int | None = None, numbers: Collection[int] | None = None) -> list[TaskFile]:
    """The tasks that are there, by level and number."""
    base = folder / "KernelBench" if (folder / "KernelBench" / "level1").is_dir() else folder
    found = []
    for here in LEVELS if level is None else (level,):
        for path in (base / f"level{here}").glob("*.py"):
            match = re.fullmatch(r"(\d+)_(.+)", path.stem)
            if match and (numbers is None or int(match[1]) in numbers):
                found.append(TaskFile(here, int(match[1]), match[2], path))
    return sorted(found, key=lambda task: (task.level, task.number))
