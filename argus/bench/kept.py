"""Times that were taken before, on disk: a sweep of many configurations that is run again costs nothing.

    store = Kept(Path("out/bench"))
    store.time("triton 256x256x64 ... at 4096 x 4096 x 4096", lambda: contestant(...))     -> Timed(us, mhz, "")

An entry is found by what was timed (its words, with everything the time depends on that the caller knows: object,
sizes) and by the clock: a digest of the files of `argus.clock` that time a launch, and of the chip's facts. A clock
that was changed takes every time anew. What could not be timed is kept with its reason, unless another try may do
better (`Passing`). Deleting the directory is always safe.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from argus.bench.contestant import Contestant

DIRECTORY = Path("out") / "bench"
BESIDE = {
    "calibration.py",
    "counters.py",
    "explain.py",
    "explain_text.py",
    "fitting.py",
    "launch_stack.py",
    "launch_whatif.py",
    "page.py",
    "sensitivity.py",
    "stall_stack.py",
    "wait_sources.py",
    "whatif.py",
    "published_clocks.json",
    "validation.json",
}
"""Files of the clock that no time depends on."""


class Passing(Exception):
    """Mixed into reasons not to time that are not kept: a file that is not there, a compiler that took too long."""


@dataclass(frozen=True, slots=True)
class Timed:
    """Time and clock of a launch at the sustained clock; `why` says what stood in the way, if anything."""

    us: float
    mhz: float
    why: str = ""


Refusals = type[Exception] | tuple[type[Exception], ...]


@cache
def clock_digest() -> str:
    """Everything a simulated time depends on besides the launch."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted([*(root / "clock").glob("*.py"), *(root / "clock").glob("*.json"), root / "gfx942/chip.json"]):
        if path.name not in BESIDE:
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Kept:
    """Times in a directory; None keeps nothing."""

    def __init__(self, directory: Path | None = DIRECTORY) -> None:
        self.directory = directory

    def time(self, words: str, make: Callable[[], Contestant], refused: Refusals) -> Timed:
        """The kept time of `words`, else of the contestant that `make` makes; `refused` is a reason not to time it."""
        entry = None if self.directory is None else self.directory / f"{_key(words)}.json"
        if entry is not None and entry.exists():
            found = json.loads(entry.read_text(encoding="utf-8"))
            return Timed(found["us"], found["mhz"], found["why"])
        try:
            launches = make().launches()
            us = sum(launch.sustained.microseconds for launch in launches)
            timed = Timed(us, launches[0].sustained.clock_mhz)
        except refused as error:
            timed = Timed(0.0, 0.0, str(error).splitlines()[0])
            if isinstance(error, Passing):
                return timed
        if entry is not None:
            entry.parent.mkdir(parents=True, exist_ok=True)
            written = entry.with_suffix(f".{os.getpid()}")
            written.write_text(json.dumps({"what": words, **asdict(timed)}), encoding="utf-8")
            written.replace(entry)
        return timed


def mark(data: str | bytes) -> str:
    """A few digits that stand for a source or an object in the words of an entry."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:12]


def _key(words: str) -> str:
    return hashlib.sha256(f"{clock_digest()}\0{words}".encode()).hexdigest()[:32]
