"""How fast a run goes: seconds of what is being judged, seconds since the last event, and the time left.

    pace = Pace()
    pace.tried(); pace.tried()        two candidates go to the judge
    pace.judged()                     the first of them is judged
    pace.waiting()                    -> [12.4]       seconds of each that is not judged yet
    pace.since_event()                -> 3.1
    pace.left(20)                     -> 208.0        seconds for 20 more, as fast as those before; None at first

Candidates a resumed run finds in its journal take no time and say nothing about the others: they are left out of
the estimate. It is an upper one: a run may end before its budget is spent.
"""

from __future__ import annotations

import time
from collections.abc import Callable

REMEMBERED = 0.1
"""Seconds within which nothing is judged: an answer that comes sooner was in the journal."""


class Pace:
    """The times of a run; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = self._event = self._before = clock()
        self._waiting: list[float] = []
        self._spent = 0.0
        self._judged = 0

    def tried(self) -> None:
        """A candidate goes to the judge."""
        self._event = self._clock()
        self._waiting.append(self._event)

    def judged(self) -> None:
        """The candidate that waited longest is judged."""
        self._event = self._clock()
        begun = self._waiting.pop(0) if self._waiting else self._before
        if self._event - begun >= REMEMBERED:
            self._spent += self._event - self._before
            self._judged += 1
        self._before = self._event

    def waiting(self) -> list[float]:
        return [self._clock() - begun for begun in self._waiting]

    def since_start(self) -> float:
        return self._clock() - self._started

    def since_event(self) -> float:
        return self._clock() - self._event

    def left(self, evaluations: int) -> float | None:
        if not self._judged:
            return None
        return max(0.0, evaluations * self._spent / self._judged - (self._clock() - self._before))


def duration(seconds: float) -> str:
    """`48 s`, `3:05`, `1:02:09`."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{rest:02}"
    return f"{minutes}:{rest:02}" if minutes else f"{rest} s"
