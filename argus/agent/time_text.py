"""A time of a judgement in words, with the clock's interval: `202 µs (186 to 231, dense GEMM)`.

    described(judgement.times, judgement.intervals)      -> "202.5 µs (186.0 to 231.0, dense GEMM)"
    bounds(times, intervals)                             -> (186.0, 231.0)

Several shapes are one number, the geometric mean of their times, and so are their bounds. Times measured on a device
have no interval of the clock; then there is only the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

Intervals = Mapping[str, Mapping[str, Any]]


def geometric_mean(values: Iterable[float]) -> float:
    found = list(values)
    return math.exp(sum(math.log(value) for value in found) / len(found))


def bounds(times: Mapping[str, float], intervals: Intervals) -> tuple[float, float] | None:
    """Of the geometric mean of the times; None where a time has no interval."""
    if not times or not set(times) <= set(intervals):
        return None
    low, high = (geometric_mean(float(intervals[shape][side]) for shape in times) for side in ("low", "high"))
    return low, high


def regimes(times: Mapping[str, float], intervals: Intervals) -> str:
    """The regimes of the shapes, each once."""
    return " and ".join(dict.fromkeys(str(intervals[shape]["regime"]) for shape in times))


def described(times: Mapping[str, float], intervals: Intervals, regime: bool = True) -> str:
    """The geometric mean of the times, its bounds, and unless told otherwise the regime."""
    if not times:
        return "no time"
    took, limits = geometric_mean(times.values()), bounds(times, intervals)
    if limits is None:
        return f"{took:.1f} µs"
    said = f", {regimes(times, intervals)}" if regime else ""
    return f"{took:.1f} µs ({limits[0]:.1f} to {limits[1]:.1f}{said})"
