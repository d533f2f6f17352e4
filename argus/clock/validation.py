"""The clock against published times: the score of every regime, with and without having seen the family.

    fit(rows)                         -> Parameters: the power model that suits the rows of role fit best
    judge(rows)                       -> [Judged(...)]: every validate row, predicted
    left_out(rows, found)             -> {family: Parameters}: fitted again without that family
    residuals_of(rows, without)       -> limits of measured over predicted per regime, for argus.clock.uncertainty

Every family has the same weight in every score: a quantile is a weighted one with 1/rows of its family per row. Errors
are of time, predicted over published less 1: negative means the clock is too fast. A program with several published
times counts against their range. `floor_of` says how far apart such times of one program are: no clock can do better.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from argus.clock.calibration import Row, published_clocks
from argus.clock.fitting import FITTED, Known, search
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.power import Activity, power
from argus.clock.uncertainty import Regime, Residuals, regime_of_profile, weighted_quantile
from argus.gfx942 import chip

SPREAD = 1.1
"""Times further apart than this are said to differ."""
LEAST_FAMILIES = 3
"""A regime with fewer families has its own limits widened by the spread between families of a regime that has them."""
EDGE = 1.0
"""Standard deviations of that spread."""
INSIDE = 0.9
"""Share of rows that an interval is meant to hold."""
REFIT_GENERATIONS, REFIT_SPREAD = 100, 0.1


def loss(rows: Sequence[Row], parameters: Parameters) -> float:
    """Mean over families of the mean absolute logarithm of predicted over known times and clocks."""
    import numpy as np

    numbers = np.array([[parameters[name] for name in FITTED]])
    return float(Known.of(rows, published_clocks(), parameters).losses(numbers, parameters)[0])


def fit(rows: Iterable[Row], base: Parameters = PARAMETERS, **limits: Any) -> Parameters:
    """The power model that suits the fit rows and published clocks best: deterministic search."""
    used = [row for row in rows if row.role == "fit"]
    return with_burst(base.with_values(**search(Known.of(used, published_clocks(), base), base, **limits)))


def with_burst(parameters: Parameters) -> Parameters:
    """The limit of a burst: what the published burst takes at its clock."""
    run = next(run for run in published_clocks() if run["state"] == "burst")
    activity = Activity(matrix=run["matrix"])
    return parameters.with_values(power_limit_burst=power(activity, run["clock_mhz"], parameters))


def left_out(rows: Sequence[Row], found: Parameters, held: Container[str] = ()) -> dict[str, Parameters]:
    """For every family the clock fitted without it, starting from the clock fitted with it; `held` stay as they are."""
    families = sorted({row.family for row in rows})
    fitted = {row.family for row in rows if row.role == "fit"}
    return {
        family: fit(
            [row for row in rows if row.family != family],
            found,
            generations=REFIT_GENERATIONS,
            seeds=(0,),
            spread=REFIT_SPREAD,
            held=held,
        )
        if family in fitted
        else found
        for family in families
    }


@dataclass(frozen=True, slots=True)
class Judged:
    """One row with what the clock and the roofline say."""

    row: Row
    regime: Regime
    predicted: float
    clock_mhz: float
    roofline: float

    @property
    def error(self) -> float:
        return self.row.error_of(self.predicted)

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return 1 / (1 + self.error)


def judge(
    rows: Iterable[Row],
    parameters: Parameters | Mapping[str, Parameters] = PARAMETERS,
    roles: Sequence[str] = ("validate",),
) -> list[Judged]:
    """The rows of these roles; `parameters` may differ by family."""
    found = []
    for row in rows:
        if row.role not in roles:
            continue
        used = parameters if isinstance(parameters, Parameters) else parameters[row.family]
        timed = row.timed(used)
        matrix = row.flops / chip.matrix_peak_tflops(row.element) * 1e-6 if row.element else 0.0
        roof = max(matrix, row.bytes / used["hbm_bandwidth"] * 1e-3)
        clock = max(timed, key=lambda each: each[1])[0]
        found.append(Judged(row, regime_of_profile(row.longest), sum(time for _, time in timed), clock, roof))
    return found


@dataclass(frozen=True, slots=True)
class Score:
    """Errors of some rows, every family with the same weight."""

    rows: int
    families: int
    median: float
    p90: float
    bias: float

    def to_json(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in self.__slots__}


def score(judged: Sequence[Judged]) -> Score:
    weights = _weights(judged)
    errors = [each.error for each in judged]
    sizes = [abs(error) for error in errors]
    return Score(
        rows=len(judged),
        families=len({each.row.family for each in judged}),
        median=weighted_quantile(sizes, weights, 0.5),
        p90=weighted_quantile(sizes, weights, 0.9),
        bias=weighted_quantile(errors, weights, 0.5),
    )


def by_regime(judged: Sequence[Judged]) -> dict[Regime, list[Judged]]:
    found: dict[Regime, list[Judged]] = defaultdict(list)
    for each in judged:
        found[each.regime].append(each)
    return {regime: found[regime] for regime in Regime if regime in found}


def residuals_of(judged: Sequence[Judged]) -> dict[Regime, Residuals]:
    """Limits that hold `INSIDE` of each regime's weight; `judged` by clocks that did not see the family."""
    members = {regime: [each for each in judged if each.regime is regime] for regime in Regime}
    families = {regime: len({each.row.family for each in rows}) for regime, rows in members.items()}
    several = [_limits(members[regime]) for regime in Regime if families[regime] >= LEAST_FAMILIES]
    between = min((spread for *_, spread in several), default=_limits(judged)[2])
    found = {}
    for regime, rows in members.items():
        low, high, spread = _limits(rows or judged)
        if families[regime] < LEAST_FAMILIES:
            low, high, spread = low * math.exp(-EDGE * between), high * math.exp(EDGE * between), between
        found[regime] = Residuals(round(low, 4), round(high, 4), len(rows), families[regime], round(spread, 4))
    return found


def share_inside(judged: Sequence[Judged], limits: Mapping[Regime, Residuals]) -> float:
    """Share of rows whose published time lies in the interval of their regime."""
    held = [limits[each.regime].low <= each.ratio <= limits[each.regime].high for each in judged]
    return sum(held) / len(held)


def share_inside_without_family(judged: Sequence[Judged], known: Sequence[Judged]) -> float | None:
    """The same with limits made of the rows `known` of other families only; None if there is no other family."""
    families = {each.row.family for each in known}
    if len(families) < 2:
        return None
    held = 0.0
    for family in families:
        members = [each for each in judged if each.row.family == family]
        if members:
            limits = residuals_of([each for each in known if each.row.family != family])
            held += len(members) * share_inside(members, limits)
    return held / len(judged)


def _limits(judged: Sequence[Judged]) -> tuple[float, float, float]:
    weights = _weights(judged)
    ratios = [each.ratio for each in judged]
    edge = (1 - INSIDE) / 2
    means = defaultdict(list)
    for each in judged:
        means[each.row.family].append(math.log(each.ratio))
    centers = [statistics.fmean(values) for values in means.values()]
    spread = statistics.stdev(centers) if len(centers) > 1 else abs(centers[0])
    return weighted_quantile(ratios, weights, edge), weighted_quantile(ratios, weights, 1 - edge), spread


def _weights(judged: Sequence[Judged]) -> list[float]:
    count = Counter(each.row.family for each in judged)
    return [1 / count[each.row.family] for each in judged]


def floor_of(rows: Sequence[Row]) -> tuple[float, int]:
    """Median over programs with several published times of half their range over their middle, and how many."""
    spreads = [(max(row.runs) - min(row.runs)) / (max(row.runs) + min(row.runs)) for row in rows if len(row.runs) > 1]
    return (statistics.median(spreads) if spreads else 0.0), len(spreads)


@dataclass(frozen=True, slots=True)
class Ranking:
    """How well the order of the programs of one shape is predicted.

    rank   rank correlation over all programs; programs whose published runs overlap count as equally fast
    right, pairs   of pairs of programs no run of which was as fast as any of the other, 10 % apart: those in order
    """

    rank: float
    right: int
    pairs: int


def rankings(rows: Sequence[Row], parameters: Parameters = PARAMETERS) -> dict[str, Ranking]:
    """Shapes that several programs ran, with a validate row and a measured spread above 10 %.

    Rows simulated by one stand-in for several programs have one time here, and no order.
    """
    shapes: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        shapes[row.shape].append(row)
    found = {}
    for shape, members in sorted(shapes.items()):
        times = [row.microseconds for row in members]
        several = len({row.predicted_us(parameters) for row in members}) > 1
        if several and any(row.role == "validate" for row in members) and max(times) > SPREAD * min(times):
            found[shape] = Ranking(_rank(members, parameters), *_pairs(members, parameters))
    return found


def _rank(members: Sequence[Row], parameters: Parameters) -> float:
    rows = sorted(members, key=lambda row: row.microseconds)
    groups = [[rows[0]]]
    for before, row in pairwise(rows):
        if max(_runs(before)) >= min(_runs(row)):
            groups[-1].append(row)
        else:
            groups.append([row])
    measured: list[float] = []
    for group in groups:
        measured += [len(measured) + (len(group) - 1) / 2] * len(group)
    predicted = [row.predicted_us(parameters) for row in rows]
    order = [float(sorted(predicted).index(time)) for time in predicted]
    several = len(set(measured)) > 1 and len(set(order)) > 1
    return statistics.correlation(measured, order) if several else 0.0


def _runs(row: Row) -> tuple[float, ...]:
    return row.runs or (row.microseconds,)


def _pairs(members: Sequence[Row], parameters: Parameters) -> tuple[int, int]:
    right = count = 0
    for one, two in combinations(sorted(members, key=lambda row: row.microseconds), 2):
        apart = max(_runs(one)) < min(_runs(two))
        if apart and two.microseconds > SPREAD * one.microseconds:
            count += 1
            right += one.predicted_us(parameters) < two.predicted_us(parameters)
    return right, count
