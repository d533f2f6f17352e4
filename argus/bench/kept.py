"""Times that were taken before, on disk: a sweep of many configurations that is run again costs nothing.

    store = Kept(Path("out/bench"))
    store.time("triton 256x256x64 ... at 4096 x 4096 x 4096", lambda: contestant(...))     -> Timed(us, mhz, "")

    store.timed_parts("ours ... at 4096 x 4096 x 4096", lambda: contestant(...))  -> (Timed(...), [LaunchAccount(...)])

An entry is found by what was timed (its words, with everything the time depends on that the caller knows: object,
sizes) and by the clock: a digest of the files that time a launch (`argus.provenance`). A clock that was changed takes
every time anew. What could not be timed is kept with its reason, unless another try may do better (`Passing`). Deleting
the directory is always safe.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from argus.bench.contestant import Contestant
from argus.clock import Launch
from argus.clock.power import Data, for_data
from argus.clock.profile import Profile
from argus.clock.protocol import Protocol
from argus.clock.uncertainty import Interval, Regime, interval_of
from argus.provenance import digest

DIRECTORY = Path("out") / "bench"


class Passing(Exception):
    """Mixed into reasons not to time that are not kept: a file that is not there, a compiler that took too long."""


@dataclass(frozen=True, slots=True)
class Timed:
    """Time, clock and interval of an operation at the sustained clock; `why`: what went wrong, if anything."""

    us: float
    mhz: float
    why: str = ""
    interval: Interval | None = None

    @staticmethod
    def of(launches: Sequence[Launch]) -> Timed:
        """One or more launches that make one operation; the clock is that of the first."""
        us = sum(launch.sustained.microseconds for launch in launches)
        return Timed(us, launches[0].sustained.clock_mhz, interval=interval_of(*launches))

    @staticmethod
    def sum(parts: Sequence[Timed]) -> Timed:
        """Operations one after the other: times and intervals added, clock and regime of the longest."""
        longest = max(parts, key=lambda part: part.us)
        interval = None
        if longest.interval is not None and all(part.interval is not None for part in parts):
            low, high = (sum(getattr(part.interval, side) for part in parts) for side in ("low", "high"))
            interval = Interval(low, high, longest.interval.regime)
        return Timed(sum(part.us for part in parts), longest.mhz, interval=interval)

    def text(self, digits: int = 1) -> str:
        """Microseconds and their interval in a cell of a table."""
        return time_cell(self.us, self.interval, digits)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "interval": None if self.interval is None else self.interval.to_json()}


def time_cell(us: float, interval: Interval | None, digits: int = 1) -> str:
    """`202.5 (186.0 to 231.0)`."""
    bounds = "" if interval is None else f" ({interval.low:.{digits}f} to {interval.high:.{digits}f})"
    return f"{us:.{digits}f}{bounds}"


@dataclass(frozen=True, slots=True)
class LaunchAccount:
    """One launch of an operation: us at the sustained clock, rounds of workgroups on the fullest compute unit, and what
    it asks of the chip."""

    us: float
    mhz: float
    rounds: float
    profile: Profile

    @staticmethod
    def of(launch: Launch) -> LaunchAccount:
        sustained = launch.sustained
        return LaunchAccount(sustained.microseconds, sustained.clock_mhz, launch.rounds, launch.profile)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "profile": self.profile.to_json()}

    @staticmethod
    def from_json(found: dict[str, Any]) -> LaunchAccount:
        return LaunchAccount(**{**found, "profile": Profile.from_json(found["profile"])})


Accounted = tuple[Timed, list[LaunchAccount]]
Refusals = type[Exception] | tuple[type[Exception], ...]


def clock_digest() -> str:
    """What a simulated time depends on besides the launch: the clock, and the machine whose execution it times."""
    return digest("argus.clock.sampled")[:16]


class Kept:
    """Times in a directory; None keeps nothing."""

    def __init__(self, directory: Path | None = DIRECTORY, protocol: Protocol = "stream") -> None:
        self.directory = directory
        self.protocol: Protocol = protocol

    def time(self, words: str, make: Callable[[], Contestant], refused: Refusals, data: Data = "signed") -> Timed:
        """The kept time of `words`, else of the contestant that `make` makes; `refused` is a reason not to time it.
        `data`: what the factors of matrix products are."""
        words = words if data == "signed" else f"{words} {data}"
        found = self._found(words)
        return self._taken(words, make, refused, data)[0] if found is None else found[0]

    def timed_parts(
        self, words: str, make: Callable[[], Contestant], refused: Refusals
    ) -> tuple[Timed, list[LaunchAccount]]:
        """The kept time of `words` with an account of each launch."""
        found = self._found(words)
        if found is None or (not found[0].why and not found[1]):
            found = self._taken(words, make, refused, "signed")
        return found

    def _entry(self, words: str) -> Path | None:
        return None if self.directory is None else self.directory / f"{_key(f'{words} {self.protocol}')}.json"

    def _found(self, words: str) -> Accounted | None:
        entry = self._entry(words)
        if entry is None or not entry.exists():
            return None
        found = json.loads(entry.read_text(encoding="utf-8"))
        timed = Timed(found["us"], found["mhz"], found["why"], _interval(found["interval"]))
        return timed, [LaunchAccount.from_json(each) for each in found.get("launches", ())]

    def _taken(self, words: str, make: Callable[[], Contestant], refused: Refusals, data: Data) -> Accounted:
        accounts: list[LaunchAccount] = []
        try:
            launches = make().launches(for_data(data), self.protocol)
            timed = Timed.of(launches)
            accounts = [LaunchAccount.of(launch) for launch in launches]
        except refused as error:
            timed = Timed(0.0, 0.0, str(error).splitlines()[0])
            if isinstance(error, Passing):
                return timed, accounts
        entry = self._entry(words)
        if entry is not None:
            entry.parent.mkdir(parents=True, exist_ok=True)
            written = entry.with_suffix(f".{os.getpid()}")
            kept = {"what": words, **timed.to_json(), "launches": [account.to_json() for account in accounts]}
            written.write_text(json.dumps(kept), encoding="utf-8")
            written.replace(entry)
        return timed, accounts


def _interval(found: dict[str, Any] | None) -> Interval | None:
    return None if found is None else Interval(found["low"], found["high"], Regime(found["regime"]))


def mark(data: str | bytes) -> str:
    """A few digits that stand for a source or an object in the words of an entry."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:12]


def _key(words: str) -> str:
    return hashlib.sha256(f"{clock_digest()}\0{words}".encode()).hexdigest()[:32]
