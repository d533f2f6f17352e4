"""The numbers of the power model that suit known times and clocks best: a seeded search over all of them at once.

    known = Known.of(rows, published_clocks())
    search(known, PARAMETERS)          -> {"power_exponent": 1.3, "power_matrix": 510.0, ...}

What counts is the mean absolute logarithm of predicted over known (`Known.loss`): times of rows, clocks of published
runs by their weights. The terms of the power model stand in for each other (a chip that does more multiplies also
moves more), so the loss has many poor valleys in which a search along single numbers stops. Differential evolution
(Storn and Price 1997) moves a population of sets by the differences among them, in logarithms, with a fixed seed: the
same rows give the same numbers. Each row is a straight line of cycles between its two timed clocks, as in
`argus.clock.curve`.

What it cannot do: say how sure the numbers are. Rows that all load the chip alike leave them open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from argus.clock.parameters import Parameters
from argus.clock.power import LOWEST_MHZ
from argus.gfx942.chip import CLOCK_MAX_MHZ

if TYPE_CHECKING:
    from argus.clock.calibration import Row

Numbers = npt.NDArray[np.float64]

BOUNDS = {
    "power_exponent": (1.0, 3.0),
    "power_matrix": (50.0, 3000.0),
    "power_valu": (20.0, 3000.0),
    "power_lds": (1.0, 3000.0),
    "power_base": (1.0, 800.0),
    "power_memory": (0.001, 0.15),
    "power_hbm": (0.001, 0.15),
}
FITTED = tuple(BOUNDS)
POPULATION, GENERATIONS, PER_ROW, SEEDS = 60, 300, 10, (0, 1, 2)
"""Generations of the search: `PER_ROW` for every row, as few rows leave little to tell apart, at most `GENERATIONS`."""
STEP, CROSSING, TOWARDS_BEST = 0.7, 0.8, 0.5
_HALVINGS = 16


@dataclass(frozen=True, slots=True)
class Known:
    """Times (or clocks, as times of a million cycles) and the work done in them: one entry per row or published run.

    cycles, slope   cycles at `low` MHz, and per MHz up to `high`
    switched        clocks of matrix cores, VALUs, LDS banks, and 1 per cycle
    moved           bytes beyond the L2s, and of HBM; of a published run (`fixed`), GB/s whatever the clock
    """

    microseconds: Numbers
    floor: Numbers
    low: Numbers
    high: Numbers
    cycles: Numbers
    slope: Numbers
    switched: Numbers
    moved: Numbers
    fixed: npt.NDArray[np.bool_]
    weight: Numbers

    @staticmethod
    def of(rows: Sequence[Row], published: Sequence[Mapping[str, Any]], floor: float) -> Known:
        entries = []
        for row in rows:
            points = sorted(row.curve.points)
            (low, first), (high, last) = points[0], points[-1]
            slope = (last - first) / (high - low) if high > low else 0.0
            curve = row.curve
            work, moved = (curve.matrix, curve.valu, curve.lds), (curve.bytes, curve.hbm)
            entries.append((row.microseconds, floor, low, high, first, slope, work, moved, False, 1.0))
        for run in published:
            million = 1e6
            work = tuple(million * run[name] for name in ("matrix", "valu", "lds"))
            moved = (run["memory_gbps"], run["hbm_gbps"])
            time = million / run["clock_mhz"]
            entries.append((time, 0.0, LOWEST_MHZ, CLOCK_MAX_MHZ, million, 0.0, work, moved, True, run["weight"]))
        columns = [np.array(column) for column in zip(*entries, strict=True)]
        return Known(*columns)

    def predicted(self, numbers: Numbers, parameters: Parameters) -> Numbers:
        """Microseconds at the sustained clock of a chip with these numbers (in the order of `FITTED`)."""
        exponent, *switching, memory, hbm = numbers
        *shares, base = switching
        work = self.switched @ np.array(shares)
        moving = self.moved @ np.array((memory, hbm))
        spare = parameters["power_limit"] - parameters["power_idle"]

        def cycles(clock: Numbers) -> Numbers:
            at: Numbers = self.cycles + self.slope * (np.clip(clock, self.low, self.high) - self.low)
            return at

        def fits(clock: Numbers) -> npt.NDArray[np.bool_]:
            at = cycles(clock)
            rate = np.where(self.fixed, 1.0, clock / at * 1e-3)
            found: npt.NDArray[np.bool_] = (clock / CLOCK_MAX_MHZ) ** exponent * (
                work / at + base
            ) + moving * rate <= spare
            return found

        low, high = np.full(len(work), LOWEST_MHZ), np.full(len(work), float(CLOCK_MAX_MHZ))
        low = np.where(fits(high), high, low)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            inside = fits(middle)
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        predicted: Numbers = cycles(low) / low + self.floor
        return predicted

    def loss(self, numbers: Numbers, parameters: Parameters) -> float:
        error = np.abs(np.log(self.predicted(numbers, parameters) / self.microseconds))
        return float((self.weight * error).sum() / self.weight.sum())


def search(known: Known, base: Parameters) -> dict[str, float]:
    """The best numbers found, starting from those of `base` and from sets drawn over their whole ranges."""
    lowest, highest = np.log(np.array(list(BOUNDS.values()))).T
    start = np.clip(np.log([base[name] for name in FITTED]), lowest, highest)
    best, least = start, known.loss(np.exp(start), base)
    for seed in SEEDS:
        best, least = _evolved(known, base, seed, (best, least), (lowest, highest))
    return {name: float(value) for name, value in zip(FITTED, np.exp(best), strict=True)}


def _evolved(
    known: Known, base: Parameters, seed: int, start: tuple[Numbers, float], bounds: tuple[Numbers, Numbers]
) -> tuple[Numbers, float]:
    dice = np.random.default_rng(seed)
    lowest, highest = bounds
    people = lowest + (highest - lowest) * dice.random((POPULATION, len(lowest)))
    people[0] = start[0]
    losses = np.array([known.loss(np.exp(one), base) for one in people])
    rows = len(known.fixed) - int(known.fixed.sum())
    for _ in range(min(GENERATIONS, PER_ROW * rows)):
        for at in range(POPULATION):
            one, two, three = people[dice.choice(POPULATION, 3, replace=False)]
            origin = people[losses.argmin()] if dice.random() < TOWARDS_BEST else one
            crossed = dice.random(len(lowest)) < CROSSING
            tried = np.where(crossed, np.clip(origin + STEP * (two - three), lowest, highest), people[at])
            found = known.loss(np.exp(tried), base)
            if found < losses[at]:
                people[at], losses[at] = tried, found
    winner = int(losses.argmin())
    return people[winner], float(losses[winner])
