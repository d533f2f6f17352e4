"""Rows of published times with their simulation: fit of the sustained clock, and the judgement of everything.

    rows = read_rows(["rows.jsonl"])             # from python -m bench.clock
    fitted = fit(rows)                           # `fit` rows and published clocks only -> Parameters
    found = validate(rows)                       # `validate` rows only -> errors, dummies, ranks

Errors are on achieved TFLOPS: |predicted / measured - 1|. Dummies stand beside the clock: the best constant efficiency
plus floor of each family, chosen on the family's fit rows (a family without any gets the constant of all fit rows); the
same, but a family without fit rows chooses on the very rows it is judged on (`told`: no predictor, a stricter
yardstick); and the roofline (matrix peak at 2100 MHz, HBM bandwidth). What is fitted is the power model's handful of
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
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from argus.clock.curve import Curve
from argus.clock.fitting import FITTED, Known, search
from argus.clock.parameters import PARAMETERS, Parameters
from argus.gfx942 import chip

SPREAD = 1.1
"""Times further apart than this are said to differ."""


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
    runs: tuple[float, ...] = ()

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
    runs = tuple(float(time) for time in data.get("runs", ()))
    return Row(**{name: data[name] for name in names}, curve=Curve.from_json(data["curve"]), runs=runs)


def published_clocks() -> list[dict[str, Any]]:
    """Published clocks with the activity they were seen at."""
    text = files("argus.clock").joinpath("published_clocks.json").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)
    return rows


def _known(rows: Sequence[Row], parameters: Parameters) -> Known:
    return Known.of(rows, published_clocks(), parameters["launch_floor"])


def loss(rows: Sequence[Row], parameters: Parameters) -> float:
    """Mean absolute logarithm of predicted over known: times of rows, clocks of published runs (weighted)."""
    numbers = np.array([parameters[name] for name in FITTED])
    return _known(rows, parameters).loss(numbers, parameters)


def fit(rows: Iterable[Row], base: Parameters = PARAMETERS) -> Parameters:
    """The power model that suits the fit rows and published clocks best: deterministic search."""
    used = [row for row in rows if row.role == "fit"]
    return base.with_values(**search(_known(used, base), base))


@dataclass(frozen=True, slots=True)
class Judged:
    """One validation row with the predictions of the clock and of the two dummies, in TFLOPS."""

    row: Row
    clock: float
    constant: float
    told: float
    roofline: float
    clock_mhz: float

    def error(self, who: str) -> float:
        predicted: float = getattr(self, who)
        return predicted / self.row.tflops - 1


@dataclass(frozen=True, slots=True)
class Validation:
    """All judged rows, and the order within each shape that several programs ran.

    ranks   rank correlation over all programs
    tied    the same, with programs whose published runs overlap counted as equally fast
    pairs   (in the right order, of) pairs of programs no run of which was as fast as any of the other, 10 % apart
    """

    rows: tuple[Judged, ...]
    ranks: dict[str, float]
    tied: dict[str, float]
    pairs: dict[str, tuple[int, int]]

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
            "tied": self.tied,
            "pairs": {shape: list(count) for shape, count in self.pairs.items()},
        }


PREDICTORS = ("clock", "constant", "told", "roofline")


def validate(rows: Sequence[Row], parameters: Parameters = PARAMETERS) -> Validation:
    """Judges every validate row."""
    families: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        families[row.family].append(row)
    used = [row for row in rows if row.role == "fit"]
    own = {family: [row for row in members if row.role == "fit"] for family, members in families.items()}
    dummies = {family: _constant(own[family] or used or members) for family, members in families.items()}
    told = {family: _constant(own[family] or members) for family, members in families.items()}
    judged = []
    for row in rows:
        if row.role != "validate":
            continue
        peak = chip.matrix_peak_tflops(row.element)
        roof = max(row.flops / peak * 1e-6, row.bytes / parameters["hbm_bandwidth"] * 1e-3)
        judged.append(
            Judged(
                row,
                clock=row.flops / row.predicted_us(parameters) * 1e-6,
                constant=_constant_tflops(row, *dummies[row.family]),
                told=_constant_tflops(row, *told[row.family]),
                roofline=row.flops / roof * 1e-6,
                clock_mhz=row.curve.sustained(parameters),
            )
        )
    shapes = _shapes(rows)
    return Validation(
        rows=tuple(judged),
        ranks={shape: _rank(members, parameters) for shape, members in shapes.items()},
        tied={shape: _rank(members, parameters, ties=True) for shape, members in shapes.items()},
        pairs={shape: _pairs(members, parameters) for shape, members in shapes.items()},
    )


def _constant_tflops(row: Row, efficiency: float, floor: float) -> float:
    peak = chip.matrix_peak_tflops(row.element)
    return row.flops / (floor + row.flops / (efficiency * peak) * 1e-6) * 1e-6


def _constant(rows: Sequence[Row]) -> tuple[float, float]:
    """Efficiency and floor (us) with the least median error on these rows."""
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


def _shapes(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows of shapes that several programs ran, with a validate row and a measured spread above 10 %."""
    shapes: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        shapes[row.shape].append(row)
    found: dict[str, list[Row]] = {}
    for shape, members in shapes.items():
        times = [row.microseconds for row in members]
        several = len({row.program for row in members}) > 1
        if several and any(row.role == "validate" for row in members) and max(times) > SPREAD * min(times):
            found[shape] = members
    return found


def _rank(members: Sequence[Row], parameters: Parameters, ties: bool = False) -> float:
    """Spearman's rank correlation of measured and predicted times; `ties`: rows whose runs overlap are equal."""
    rows = sorted(members, key=lambda row: row.microseconds)
    groups = [[rows[0]]]
    for before, row in pairwise(rows):
        if ties and max(_runs(before)) >= min(_runs(row)):
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
