"""What happened when on one compute unit: slices on tracks, and accesses in flight.

    timing = time_waves(ops, groups, resources, timeline=True)
    timing.timeline.slices[0]    -> Slice(track=Track("wave", 0, 0), start=0, end=4, op=0, wave=0, stall=None)
    timing.timeline.flights[0]   -> Flight("vmem", 8, 812)

Every wave and every unit has a track of its own. A wave's track has one slice per instruction (its turn) and one per
stall before it, with the reason. A unit's track has one slice per instruction for as long as the unit works on it,
which may begin after the instruction was issued (queues of LDS and vector memory) and go on while its wave issues
others (matrix core). So slices of one track never overlap. Clocks are those of the timed iterations: where a long loop
was shortened, the iterations left out are not here.

    kind      simd        number
    wave      its SIMD    age of the wave
    matrix, valu, scalar, branch     one of each per SIMD
    lds       SHARED      port: SIMDs 0 and 1 share port 0, SIMDs 2 and 3 port 1
    vmem      SHARED      0
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from argus.clock.program import Reason

SHARED = -1
TrackKind = Literal["vmem", "lds", "matrix", "valu", "scalar", "branch", "wave"]
TRACK_TITLES: dict[TrackKind, str] = {
    "vmem": "vector memory",
    "lds": "LDS port",
    "matrix": "matrix core",
    "valu": "VALU",
    "scalar": "scalar",
    "branch": "branch",
    "wave": "wave",
}
_ORDER = list(TRACK_TITLES)


@dataclass(frozen=True, slots=True)
class Track:
    """A wave or a unit."""

    kind: TrackKind
    simd: int = SHARED
    number: int = 0

    @property
    def title(self) -> str:
        return f"{TRACK_TITLES[self.kind]} {self.number}" if self.kind in ("wave", "lds") else TRACK_TITLES[self.kind]

    @property
    def place(self) -> tuple[int, int, int]:
        """Where it is shown: shared units first, then each SIMD's units, then its waves."""
        return (self.simd, _ORDER.index(self.kind), self.number)


@dataclass(frozen=True, slots=True)
class Slice:
    """Clocks `start` to `end` of a track: instruction `op` of `wave`, or its `stall` before it."""

    track: Track
    start: int
    end: int
    op: int
    wave: int
    stall: Reason | None = None


@dataclass(frozen=True, slots=True)
class Flight:
    """An access between its issue and its data (or acknowledgement)."""

    kind: Literal["vmem", "lds"]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Slices and flights in the order of their starts."""

    slices: tuple[Slice, ...]
    flights: tuple[Flight, ...]

    def tracks(self) -> list[Track]:
        """All tracks with a slice, in the order they are shown."""
        return sorted({s.track for s in self.slices}, key=lambda track: track.place)


def counted(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """How many spans hold at each clock: (clock, number), wherever the number changes.

    counted([(0, 4), (2, 6)])    -> [(0, 1), (2, 2), (4, 1), (6, 0)]
    """
    change: dict[int, int] = {}
    for start, end in spans:
        change[start] = change.get(start, 0) + 1
        change[end] = change.get(end, 0) - 1
    found: list[tuple[int, int]] = []
    number = 0
    for clock in sorted(change):
        if change[clock]:
            number += change[clock]
            found.append((clock, number))
    return found
