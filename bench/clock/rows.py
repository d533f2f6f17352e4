"""Published times as rows, how each was taken, and the line of JSON a simulated row becomes.

    Task(Measured(role="fit", regime="memory-bound", …, microseconds=98.2, protocol="stream"), lambda: [work])

A `Measured` is a fact: what ran, how it was timed, who published it. A `Task` adds the way to its launches. Rows of one
program have one role, so that nothing is validated on a program whose other sizes were fitted.

`replay gap`: graphs of one launch each, replayed back to back, have 4 to 5 us between them. Of `REPLAY_GAP` the floor
of a longer graph is in the prediction, the rest is taken off. `warm-up 200ms` (or more) against five launches on an
idle chip: where both were published, the first counts (one kernel at 4096: 392 us and 422 to 431).
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from argus import provenance
from argus.bench.attention import lengths
from argus.clock import MODEL_VERSION, Launch, Parameters, Recorded, time_recorded
from argus.clock.calibration import ROLES, launch_line
from argus.clock.power import Data
from argus.clock.protocol import Protocol
from argus.clock.sampled import Work, prepared, sample

REPLAY_GAP = 4.5
GRAPH_FLOOR = 0.6
"""Microseconds between launches of one graph, which the clock has in a time taken by that protocol."""
WARMED_MS = 200

Regime = Literal["dense GEMM", "attention", "fp8/MoE", "small or latency-bound", "memory-bound"]
SIMULATION = ("argus.clock.sampled", "argus.machine.launch")
HOST_SIDE = frozenset(
    {"argus", "argus.gfx942", "argus.provenance", "argus.machine.jit.objects", "argus.machine.jit.compilers"}
)
"""Modules that the simulation imports and that decide no number: two packages that lend names to kernel files, digests,
and the store of translations with the processes that compile them. What is emitted, and with what meaning, is decided
by the translator, which is in the digest."""
CLOCK = provenance.PACKAGE / "clock"
TRITON = provenance.PACKAGE / "bench" / "triton_compile.py"
OTHER_CLOCK = 1250.0
"""Besides the full clock every launch is timed here: between the two, a fit can move the sustained clock."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One published time. `shape` groups rows that did the same work, `program` names what ran.

    exact     the very program was simulated, not one of ours that does the same accesses
    warm      the tensors were used just before, so that they lie in the Infinity Cache as far as they fit
    timing    how the time was taken, in the source's words
    state     "burst": a few milliseconds on a chip that idled before
    data      what the factors were: random numbers of both signs, or "positive", between 0 and 1
    notes     what is known to be unlike the measured launch
    runs      the times of all published runs, if there are several (`microseconds`: their median)
    """

    role: str
    regime: Regime
    family: str
    program: str
    shape: str
    flops: float
    bytes: float
    element: str
    microseconds: float
    source: str
    protocol: Protocol
    exact: bool
    warm: bool
    timing: str = ""
    runs: tuple[float, ...] = ()
    state: str = "steady"
    data: Data = "signed"
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        return self.family, self.program, self.shape


@dataclass(frozen=True, slots=True)
class Task:
    """A row and the launches that do its work, one after the other.

    steps   workgroup -> its work, in any unit, where workgroups differ and arithmetic says how (one launch)
    order   workgroup of the measured program -> the one of ours that does its work, if theirs come in another order
    """

    row: Measured
    works: Callable[[], Sequence[Work]]
    steps: Callable[[int], float] | None = None
    order: Callable[[int], int] | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows of the facts that are not simulated, and why."""

    family: str
    rows: int
    reason: str


@dataclass(frozen=True, slots=True)
class Folders:
    """Where facts and foreign objects lie; None: that folder was not given, and its families are left out."""

    facts: Path | None = None
    aiter: Path | None = None
    hipblaslt: Path | None = None


Timer = Callable[[Parameters], list[Launch]]
"""The launches of a row under given parameters of the clock."""


def executed(task: Task) -> Timer:
    """Executes a sample of each launch; the result times them under any parameters."""
    ready: list[tuple[Work, Recorded]] = [(work, prepared(sample(work))) for work in task.works()]
    row = task.row
    if task.steps is not None:
        ((work, recorded),) = ready
        every = lengths(recorded.work or {}, task.steps, work.workgroups)
        order = task.order or (lambda number: number)
        recorded.work = {number: every[order(number)] for number in every}

    def time(parameters: Parameters) -> list[Launch]:
        return [
            time_recorded(
                recorded,
                flops=row.flops / len(ready),
                hbm_bytes=work.moved,
                element=row.element or None,
                warm=row.warm,
                protocol=row.protocol,
                also=(OTHER_CLOCK,),
                parameters=parameters,
            )[1]
            for work, recorded in ready
        ]

    return time


def line(task: Task, launches: Sequence[Launch], module: str, seconds: float) -> dict[str, Any]:
    """The row with its simulation (argus.clock.calibration says what a row holds), and which code simulated it."""
    return {
        **asdict(task.row),
        "launches": [launch_line(task.row.program, launch) for launch in launches],
        "simulated": {
            "model": MODEL_VERSION,
            "code": code_of(module),
            "module": module,
            "seconds": round(seconds, 1),
        },
    }


def rated(
    family: str, program: str, shape: str, role: str, moved: float, rate: float, source: str, **more: Any
) -> Measured:
    """A memory-bound row of an equivalent program whose published figure is a rate, in bytes per second."""
    usual = {"regime": "memory-bound", "protocol": "stream", "warm": False, "exact": False}
    return Measured(
        role=role,
        family=family,
        program=program,
        shape=shape,
        flops=0.0,
        bytes=moved,
        element="",
        microseconds=moved / rate * 1e6,
        source=source,
        **{**usual, **more},
    )


def timed(
    family: str, program: str, shape: str, role: str, moved: float, microseconds: float, source: str, **more: Any
) -> Measured:
    """The same with a published time."""
    return rated(family, program, shape, role, moved, moved / microseconds * 1e6, source, **more)


@cache
def code_of(module: str) -> str:
    """Digest of what decides a row: the clock, the machine, how Triton is called, and the family's own file.

    The clock's fitted numbers are left out: a row keeps what it needs to be timed under others.
    """
    result = hashlib.sha256()
    for path in (*deciding(), TRITON, Path(__file__).with_name(f"{module}.py")):
        result.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return result.hexdigest()[:16]


@cache
def deciding() -> tuple[Path, ...]:
    """Sources that `SIMULATION` rests on, and the data beside them, sorted; `HOST_SIDE` is not entered."""
    modules: set[str] = set()
    open_ = list(SIMULATION)
    while open_:
        module = open_.pop()
        if module not in modules | HOST_SIDE and provenance.source(module) is not None:
            modules.add(module)
            open_ += (*provenance.imported(module), module.rpartition(".")[0])
    sources = {path for module in modules if (path := provenance.source(module)) is not None}
    data = {path for folder in {path.parent for path in sources} - {CLOCK} for path in folder.glob("*.json")}
    return tuple(sorted(sources | data))


def without_gap(row: dict[str, str]) -> float:
    """The published time in us, less what its replay gap has beyond the floor of a graph."""
    gapped = "replay gap" in row["notes"] or row["notes"].startswith("as above")
    return float(row["value"]) - (REPLAY_GAP - GRAPH_FLOOR if gapped else 0.0)


def warmed_up(row: dict[str, str]) -> bool:
    """Whether the chip was busy for at least 200 ms before the time was taken."""
    return any(int(time) >= WARMED_MS for time in re.findall(r"warm-up (\d+) ?ms", row["notes"]))


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a table of facts that are to fit or to validate."""
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["role"] in ROLES]


def given(folder: Path | None) -> Path:
    """A folder that the family needs, and whose presence was checked."""
    if folder is None:
        raise ValueError("the family's folder was not given")
    return folder


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"no {pattern!r} in {text!r}")
    return int(found[1])
