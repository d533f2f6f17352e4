"""Which of two launches is faster, and is that sure? Both under the same perturbed clocks, as one ratio.

    found = paired(ours, theirs)             # each: Parameters -> the launches that do the work
    found.verdict                            -> "faster", "tie" or "slower": the first against the second
    found.ratio, found.low, found.high       -> 0.93, 0.88, 0.99: time of the first over time of the second
    found.text()                             -> "faster: 0.93x the time (0.88 to 0.99)"

An error that both share does not decide between them, so the ratio is looked at, clock by clock. Each perturbed clock
changes everything that is fitted or assumed at once (`argus.clock.sensitivity`). What is left is what the clock gets
wrong about one family of programs and not about another: the spread of the families' mean errors in the regime
(`residuals.json`), twice, as there are two of them. Launches of one family (variants of one kernel: `same_family`)
share that error, so it does not count. The verdict is "tie" when 1 lies inside the interval, which holds 90 % of the
ratios.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from argus.clock.launch import Launch
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.sensitivity import CLOCKS, perturbed
from argus.clock.uncertainty import family_spread, regime_of

Verdict = Literal["faster", "tie", "slower"]
Timer = Callable[[Parameters], Sequence[Launch]]
"""The launches that together do the work, under given parameters of the clock."""

EDGE = 1.645
"""Standard deviations on either side that hold 90 % of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Time of the first over time of the second at the sustained clocks, with its interval."""

    verdict: Verdict
    ratio: float
    low: float
    high: float
    clocks: int

    def text(self) -> str:
        return f"{self.verdict}: {self.ratio:.2f}x the time ({self.low:.2f} to {self.high:.2f})"

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def paired(
    first: Timer,
    second: Timer,
    *,
    same_family: bool = False,
    seed: int = 0,
    clocks: int = CLOCKS,
    base: Parameters = PARAMETERS,
) -> Paired:
    """The first launch against the second; `same_family`: both come from one program generator or author."""
    ones, twos = first(base), second(base)
    nominal = math.log(_total(ones) / _total(twos))
    ratios = [math.log(_total(first(clock)) / _total(second(clock))) for clock in perturbed(seed, clocks, base)]
    return decided(nominal, ratios, 0.0 if same_family else _family_spread(ones, twos))


def decided(nominal: float, ratios: Sequence[float], spread: float) -> Paired:
    """From logarithms of ratios: the nominal one, those under perturbed clocks, and the spread between families."""
    moved = math.sqrt(statistics.fmean((ratio - nominal) ** 2 for ratio in ratios)) if ratios else 0.0
    edge = EDGE * math.hypot(moved, spread)
    low, high = nominal - edge, nominal + edge
    verdict: Verdict = "faster" if high < 0 else "slower" if low > 0 else "tie"
    return Paired(verdict, math.exp(nominal), math.exp(low), math.exp(high), len(ratios))


def _total(launches: Sequence[Launch]) -> float:
    return sum(launch.sustained.microseconds for launch in launches)


def _family_spread(ones: Sequence[Launch], twos: Sequence[Launch]) -> float:
    """Standard deviation of the difference of two families' errors."""
    longest = [max(each, key=lambda launch: launch.sustained.microseconds) for each in (ones, twos)]
    return family_spread(regime_of(longest[0]), regime_of(longest[1]))
