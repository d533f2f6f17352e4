"""What goes wrong in a launch, as data: reports of the checks and the errors that stop a run.

A report names the workgroup, wave, lane, instruction and address, in the words of the disassembly:

    ARG-M101 race (LDS): workgroup 0 wave 1 lane 3, ds_write_b32 v2, v3 at 0x1c4 writes LDS byte 12
      which wave 0 reads by ds_read_b32 v4, v1 at 0x1a0; no barrier between them

Every check has a code. `MachineReport.to_json()` is what tools read; `str(report)` is what people read.
A run that cannot go on raises `MachineError` (or a subclass), which carries its report; checks that can go on collect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

CODES: Mapping[str, str] = {
    "ARG-M101": "race",
    "ARG-M102": "missing wait",
    "ARG-M103": "missing wait states",
    "ARG-M104": "uninitialised value",
    "ARG-M105": "out of bounds",
    "ARG-M106": "mismatched barriers",
    "ARG-M107": "does not end",
    "ARG-M108": "resources",
    "ARG-M109": "unsupported instruction",
    "ARG-M110": "invalid code",
    "ARG-M111": "invalid launch",
    "ARG-M112": "conflicting stores",
    "ARG-M113": "trap",
    "ARG-M114": "lost data",
}


@dataclass(frozen=True, slots=True)
class LaunchPoint:
    """Where in a launch: workgroup (x, y, z), wave, lane, instruction."""

    workgroup: tuple[int, int, int] | None = None
    wave: int | None = None
    lane: int | None = None
    pc: int | None = None
    text: str = ""

    def __str__(self) -> str:
        parts = []
        if self.workgroup is not None:
            parts.append(f"workgroup {self.workgroup[0]},{self.workgroup[1]},{self.workgroup[2]}")
        if self.wave is not None:
            parts.append(f"wave {self.wave}")
        if self.lane is not None:
            parts.append(f"lane {self.lane}")
        where = " ".join(parts)
        if self.pc is None:
            return where
        return f"{where}, {self.text} at {self.pc:#x}" if where else f"{self.text} at {self.pc:#x}"

    def to_json(self) -> dict[str, Any]:
        return {
            "workgroup": self.workgroup,
            "wave": self.wave,
            "lane": self.lane,
            "pc": self.pc,
            "instruction": self.text,
        }


@dataclass(frozen=True, slots=True)
class MachineReport:
    """One finding.

    code      stable code, see CODES;
    message   what happened, one sentence, in the user's words;
    at        where;
    other     the other side (of a race, of a missing wait), if there is one;
    address   byte address concerned, if any; `space` says of what memory;
    count     how often the same pair of instructions was found;
    level     "error"; "warning" for what right kernels hardly ever do but may; "note" for a rule of the compilers
              that AMD's own assembly does not keep.
    """

    code: str
    message: str
    at: LaunchPoint = field(default_factory=LaunchPoint)
    other: LaunchPoint | None = None
    address: int | None = None
    space: str = ""
    count: int = 1
    level: Literal["error", "warning", "note"] = "error"

    @property
    def name(self) -> str:
        return CODES[self.code]

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        where = str(self.at)
        level = "" if self.level == "error" else f" ({self.level})"
        text = f"{self.code} {self.name}{level}: {where + ': ' if where else ''}{self.message}{times}"
        return f"{text}\n  other: {self.other}" if self.other else text

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "name": self.name,
            "message": self.message,
            "at": self.at.to_json(),
            "other": self.other.to_json() if self.other else None,
            "address": self.address,
            "space": self.space,
            "count": self.count,
            "level": self.level,
        }


class MachineError(Exception):
    """A launch cannot go on; `report` says where and why, `findings` what the checks had reported before."""

    def __init__(self, report: MachineReport) -> None:
        super().__init__(str(report))
        self.report = report
        self.findings: list[MachineReport] = []


class LaunchError(MachineError):
    """The launch itself is wrong: grid, block, arguments, resources."""

    def __init__(self, message: str, code: str = "ARG-M111") -> None:
        super().__init__(MachineReport(code, message))


class MachineFindings:
    """Collects reports, one per (code, instruction, other instruction), with a count."""

    def __init__(self, limit: int = 1000) -> None:
        self._reports: dict[tuple[str, int | None, int | None], MachineReport] = {}
        self._counts: dict[tuple[str, int | None, int | None], int] = {}
        self._limit = limit

    def add(self, report: MachineReport) -> None:
        key = (report.code, report.at.pc, report.other.pc if report.other else None)
        if key in self._reports:
            self._counts[key] += 1
        elif len(self._reports) < self._limit:
            self._reports[key] = report
            self._counts[key] = 1

    def __len__(self) -> int:
        return len(self._reports)

    def reports(self) -> list[MachineReport]:
        return [replace(r, count=self._counts[key]) for key, r in self._reports.items()]
