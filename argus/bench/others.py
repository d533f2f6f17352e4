"""The others beside ours: whom to compare with, the fastest of a library's variants, and what is said of it.

found = best_triton(lambda: swept(FULL, time_at_4096, 40), time_at_8192)
found["Triton"].us, to_ours(found, ours.us)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, TypeVar

from argus.bench.kept import Timed, time_cell
from argus.bench.triton_compile import TritonError
from argus.clock.uncertainty import Interval


class Yardstick(StrEnum):
    """What a library's time is the time of."""

    CHOICE = "its choice"
    DIVIDED = "its choice, which divides K; the parts are added by our combine"
    NEAR = "the fastest of its near solutions, not its choice"


class Named(Protocol):
    """A configuration that has words for itself."""

    def text(self) -> str: ...


C = TypeVar("C", bound=Named)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Others:
    """Whom to compare with: Triton's configurations (`none`, `quick`, `full`), directories of AITER's and hipBLASLt's
    objects. `nearest`: how many of hipBLASLt's near solutions are tried at a size its tables have no entry for."""

    triton: str = "quick"
    aiter: Path | None = None
    hipblaslt: Path | None = None
    nearest: int = 0


@dataclass(frozen=True, slots=True)
class Best:
    """The fastest of a library's variants at a shape; `left_out` says which did not take part and why."""

    us: float
    detail: str
    tried: int
    left_out: tuple[str, ...]
    interval: Interval | None = None
    kind: Yardstick = Yardstick.CHOICE

    def text(self, digits: int = 1) -> str:
        """Microseconds and their interval in a cell of a table."""
        return time_cell(self.us, self.interval, digits)

    def to_json(self, tflops: Callable[[float], float] | None = None) -> dict[str, Any]:
        speed = {} if tflops is None else {"tflops": tflops(self.us)}
        interval = None if self.interval is None else self.interval.to_json()
        return {
            "us": self.us, "interval": interval, **speed, "detail": self.detail, "tried": self.tried,
            "kind": str(self.kind),
        }  # fmt: skip


def to_ours(others: Mapping[str, Best], us: float) -> float | None:
    """The best of the simulated others to ours: above 1 ours is faster."""
    return min(best.us for best in others.values()) / us if others else None


def swept(variants: Sequence[V], time: Callable[[V], Timed], count: int) -> list[V]:
    """The `count` fastest of a sweep, fastest first; without those that could not be timed."""
    times = [time(variant) for variant in variants]
    return [variants[n] for _, n in sorted((t.us, n) for n, t in enumerate(times) if not t.why)[:count]]


def best_triton(configs: Callable[[], Sequence[C]], time: Callable[[C], Timed]) -> dict[str, Best]:
    """The fastest configuration; nothing, and a word to the user, where there is no Triton."""
    try:
        return fastest("Triton", {config.text(): time(config) for config in configs()})
    except TritonError as error:
        print(f"# {error}", file=sys.stderr)
        return {}


def fastest(name: str, timed: Mapping[str, Timed]) -> dict[str, Best]:
    """The fastest of a library's variants, under its name; nothing if none could be timed."""
    good = {text: time for text, time in timed.items() if not time.why}
    if not good:
        return {}
    best = min(good, key=lambda text: good[text].us)
    left_out = tuple(time.why for time in timed.values() if time.why)
    return {name: Best(good[best].us, best, len(good), left_out, good[best].interval)}
