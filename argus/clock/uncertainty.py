"""How far a predicted time may be from the real one: an interval per regime, from what the clock got wrong before.

    regime_of(launch)             -> Regime.GEMM
    interval_of(launch)           -> Interval(low=186.0, high=231.0, regime=Regime.GEMM)
    described(launch)             -> "202 µs (186 to 231, dense GEMM)"
    interval_of(one, another)     of an operation of two launches: their intervals added, the regime of the longer

A launch belongs to one of five regimes, told from its profile alone, so that our own kernels and other people's are
treated alike. The limits of a regime are quantiles of measured over predicted time of its rows, each family predicted
by a clock that was fitted without it, every family with the same weight (`residuals.json`, written by `argus clock fit
--write`). Errors of the sample (iterations, sharing, work) are added in quadrature.

What it cannot do: know a regime no published program covers. A regime with few families gets wider limits than its own
rows need.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.profile import Profile

if TYPE_CHECKING:
    from argus.clock.launch import Launch

SHORT_US = 30.0
"""Launches shorter than this are dominated by starts, drains and latencies."""
MATRIX_SHARE, MEMORY_SHARE, TRANSCENDENTAL = 0.2, 0.6, 0.02
FULL_CLOCK = 2100.0


class Regime(StrEnum):
    """What kind of time a launch takes."""

    GEMM = "dense GEMM"
    ATTENTION = "attention"
    EIGHT_BIT = "fp8/MoE"
    SMALL = "small or latency-bound"
    MEMORY = "memory-bound"


@dataclass(frozen=True, slots=True)
class Interval:
    """Microseconds between which nine of ten measured times of this regime would lie."""

    low: float
    high: float
    regime: Regime

    def text(self, microseconds: float) -> str:
        return f"{_short(microseconds)} µs ({_short(self.low)} to {_short(self.high)}, {self.regime})"

    def to_json(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, "regime": str(self.regime)}


@dataclass(frozen=True, slots=True)
class Residuals:
    """Limits of measured over predicted time in one regime, and the spread of the families' mean logarithms in it."""

    low: float
    high: float
    rows: int
    families: int
    family_spread: float


def regime_of_profile(profile: Profile, parameters: Parameters = PARAMETERS) -> Regime:
    """The regime at the full clock, so that it does not depend on the power model."""
    parts = profile.parts(FULL_CLOCK, parameters)
    busy = max(parts.values())
    matrix = sum(profile.matrix.values()) / (busy * FULL_CLOCK)
    memory = max(parts["hbm"], parts["mall"]) / busy
    eight = sum(clocks for name, clocks in profile.matrix.items() if name in ("fp8", "bf8", "i8"))
    if busy < SHORT_US:
        return Regime.SMALL
    if memory >= MEMORY_SHARE and matrix < MATRIX_SHARE:
        return Regime.MEMORY
    if matrix < MATRIX_SHARE / 2:
        return Regime.SMALL
    if eight > sum(profile.matrix.values()) / 2:
        return Regime.EIGHT_BIT
    if profile.transcendental > TRANSCENDENTAL * sum(profile.matrix.values()):
        return Regime.ATTENTION
    return Regime.GEMM


def regime_of(launch: Launch) -> Regime:
    return regime_of_profile(launch.profile)


@cache
def residuals() -> Mapping[Regime, Residuals]:
    """What `argus clock fit --write` found."""
    found = json.loads(files("argus.clock").joinpath("residuals.json").read_text(encoding="utf-8"))
    return {Regime(name): Residuals(**row) for name, row in found["regimes"].items()}


def family_spread(one: Regime, other: Regime) -> float:
    """Standard deviation of the difference of two families' mean errors, one in each regime (logarithms)."""
    return math.hypot(residuals()[one].family_spread, residuals()[other].family_spread)


def interval_of(*launches: Launch) -> Interval:
    """The interval of the time at the sustained clock, of one launch or of several that make one operation."""
    parts = [_one(launch) for launch in launches]
    longest = max(launches, key=lambda launch: launch.sustained.microseconds)
    return Interval(sum(part.low for part in parts), sum(part.high for part in parts), regime_of(longest))


def _one(launch: Launch) -> Interval:
    regime = regime_of(launch)
    known = residuals()[regime]
    sampled = math.hypot(launch.iteration_error, launch.work_error or 0.0, launch.sharing_error)
    time = launch.sustained.microseconds
    low = time * max(0.0, 1 - math.hypot(1 - known.low, sampled)) if known.low < 1 else time * known.low * (1 - sampled)
    high = time * (1 + math.hypot(known.high - 1, sampled)) if known.high > 1 else time * known.high * (1 + sampled)
    return Interval(low, high, regime)


def described(*launches: Launch) -> str:
    """`202 µs (186 to 231, dense GEMM)`."""
    total = sum(launch.sustained.microseconds for launch in launches)
    return interval_of(*launches).text(total)


def weighted_quantile(values: Sequence[float], weights: Sequence[float], share: float) -> float:
    """The least value with at least that share of the weight at or below it."""
    total, below = sum(weights), 0.0
    pairs = sorted(zip(values, weights, strict=True))
    for value, weight in pairs:
        below += weight
        if below >= share * total - 1e-12:
            return value
    return pairs[-1][0]


def _short(microseconds: float) -> str:
    return f"{microseconds:.1f}" if microseconds < 100 else f"{microseconds:.0f}"
