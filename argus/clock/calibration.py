"""Rows of published times with their simulation: fit of the sustained clock, and the judgement of everything.

    rows = read_rows(["rows.jsonl"])             # from python -m bench.clock
    fitted = fit(rows)                           # `fit` rows and published clocks only -> Parameters
    found = validate(rows)                       # `validate` rows only -> errors, dummies, ranks

Errors are on achieved TFLOPS: |predicted / measured - 1|. Two dummies stand beside the clock: the best constant
efficiency plus floor of each family (chosen on the family's fit rows, or, where it has none, on the very rows it is
judged on), and the roofline (matrix peak at 2100 MHz, HBM bandwidth). What is fitted is the power model's handful of
numbers for all kernels at once; the cycle model's numbers come from micro-measurements and are not touched.
"""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations, product
from pathlib import Path
from typing import Any

from argus.clock.curve import Curve
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.power import Activity, sustained_clock
from argus.gfx942 import chip

FITTED = ("power_exponent", "power_matrix", "power_valu", "power_lds", "power_base", "power_memory")
BOUNDS = {"power_exponent": (1.0, 3.0), "power_memory": (0.001, 0.15)}
WIDE = (1.0, 3000.0)
PUBLISHED_WEIGHT = 3.0


@dataclass(frozen=True, slots=True)
class Row:
    """One published time and the simulation of its launch."""

    role: str
    family: str
    program: str
    shape: str
    flops: float
    bytes: float
    element: str
    microseconds: float
    bound: str
    curve: Curve

    @property
    def tflops(self) -> float:
        return self.flops / self.microseconds * 1e-6

    def predicted_us(self, parameters: Parameters = PARAMETERS) -> float:
        return self.curve.microseconds(self.curve.sustained(parameters), parameters)


class RowError(ValueError):
    """A file of rows cannot be read."""


def read_rows(paths: Iterable[str | Path]) -> list[Row]:
    rows = []
    for path in paths:
        for number, text in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
            try:
                rows.append(_row(json.loads(text)))
            except (ValueError, KeyError, TypeError) as error:
                raise RowError(f"{path}:{number} is not a simulated row: {error}") from error
    return rows


def _row(data: dict[str, Any]) -> Row:
    names = ("role", "family", "program", "shape", "flops", "bytes", "element", "microseconds", "bound")
    return Row(**{name: data[name] for name in names}, curve=Curve.from_json(data["curve"]))


def published_clocks() -> list[dict[str, Any]]:
    """Published clocks with the activity they were seen at."""
    text = files("argus.clock").joinpath("published_clocks.json").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)
    return rows


def loss(rows: Sequence[Row], parameters: Parameters) -> float:
    """Mean absolute logarithm of predicted over known: times of rows, clocks of published rows (weighted)."""
    total, weight = 0.0, 0.0
    for row in rows:
        total += abs(math.log(row.predicted_us(parameters) / row.microseconds))
        weight += 1
    for known in published_clocks():
        activity = Activity(known["matrix"], known["valu"], known["lds"], known["memory_gbps"])
        clock = _clock_of(activity, parameters)
        total += PUBLISHED_WEIGHT * abs(math.log(clock / known["clock_mhz"]))
        weight += PUBLISHED_WEIGHT
    return total / weight


def _clock_of(activity: Activity, parameters: Parameters) -> float:
    return sustained_clock(lambda _: activity, parameters)


def fit(rows: Iterable[Row], base: Parameters = PARAMETERS) -> Parameters:
    """The power model that suits the fit rows and published clocks best: deterministic search.

    Numbers are scaled up and down, alone and two at a time (what one term takes over another must give back), by ever
    smaller factors, until nothing helps.
    """
    used = [row for row in rows if row.role == "fit"]
    values = {name: base[name] for name in FITTED}
    best = loss(used, base)
    moves = [(name,) for name in FITTED] + list(combinations(FITTED, 2))
    step = 0.5
    while step > 0.01:
        improved = False
        for move in moves:
            for signs in product((1, -1), repeat=len(move)):
                tried = dict(values)
                for name, sign in zip(move, signs, strict=True):
                    low, high = BOUNDS.get(name, WIDE)
                    tried[name] = min(high, max(low, values[name] * (1 + step) ** sign))
                found = loss(used, base.with_values(**tried))
                if found < best - 1e-9:
                    values, best, improved = tried, found, True
        if not improved:
            step /= 2
    return base.with_values(**values)


@dataclass(frozen=True, slots=True)
class Judged:
    """One validation row with the predictions of the clock and of the two dummies, in TFLOPS."""

    row: Row
    clock: float
    constant: float
    roofline: float
    clock_mhz: float

    def error(self, who: str) -> float:
        predicted: float = getattr(self, who)
        return predicted / self.row.tflops - 1


@dataclass(frozen=True, slots=True)
class Validation:
    """All judged rows, and the rank correlation within each shape that several programs ran."""

    rows: tuple[Judged, ...]
    ranks: dict[str, float]

    def errors(self, who: str) -> list[float]:
        return sorted(abs(row.error(who)) for row in self.rows)

    def median(self, who: str) -> float:
        return statistics.median(self.errors(who))

    def percentile90(self, who: str) -> float:
        errors = self.errors(who)
        return errors[min(len(errors) - 1, math.ceil(0.9 * len(errors)) - 1)]

    def summary(self) -> dict[str, Any]:
        return {
            "rows": len(self.rows),
            **{who: {"median": self.median(who), "p90": self.percentile90(who)} for who in PREDICTORS},
            "ranks": self.ranks,
        }


PREDICTORS = ("clock", "constant", "roofline")


def validate(rows: Sequence[Row], parameters: Parameters = PARAMETERS) -> Validation:
    """Judges every validate row."""
    families: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        families[row.family].append(row)
    dummies = {family: _constant(members) for family, members in families.items()}
    judged = []
    for row in rows:
        if row.role != "validate":
            continue
        efficiency, floor = dummies[row.family]
        peak = chip.matrix_peak_tflops(row.element)
        roof = max(row.flops / peak * 1e-6, row.bytes / parameters["hbm_bandwidth"] * 1e-3)
        judged.append(
            Judged(
                row,
                clock=row.flops / row.predicted_us(parameters) * 1e-6,
                constant=row.flops / (floor + row.flops / (efficiency * peak) * 1e-6) * 1e-6,
                roofline=row.flops / roof * 1e-6,
                clock_mhz=row.curve.sustained(parameters),
            )
        )
    return Validation(tuple(judged), _ranks(rows, parameters))


def _constant(members: Sequence[Row]) -> tuple[float, float]:
    """Efficiency and floor (us) with the least median error on the family's fit rows, else on all its rows."""
    rows = [row for row in members if row.role == "fit"] or list(members)
    best = (math.inf, 1.0, 0.0)
    for floor in (0.0, 2.7, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0):
        for percent in range(5, 101):
            efficiency = percent / 100
            errors = [
                abs(
                    row.microseconds / (floor + row.flops / (efficiency * chip.matrix_peak_tflops(row.element)) * 1e-6)
                    - 1
                )
                for row in rows
            ]
            best = min(best, (statistics.median(errors), efficiency, floor))
    return best[1], best[2]


def _ranks(rows: Sequence[Row], parameters: Parameters) -> dict[str, float]:
    """Spearman rank correlation over programs, for shapes with a validate row and a measured spread above 10 %."""
    shapes: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        shapes[row.shape].append(row)
    found = {}
    for shape, members in shapes.items():
        times = [row.microseconds for row in members]
        several = len({row.program for row in members}) > 1
        if several and any(row.role == "validate" for row in members) and max(times) > 1.1 * min(times):
            found[shape] = _spearman(times, [row.predicted_us(parameters) for row in members])
    return found


def _spearman(first: Sequence[float], second: Sequence[float]) -> float:
    x, y = ([sorted(values).index(value) for value in values] for values in (first, second))
    return statistics.correlation(x, y) if len(set(x)) > 1 and len(set(y)) > 1 else 0.0
