"""Fit and validation on rows made up from a known chip: the fit finds it, roles and families are kept apart."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from argus.clock.calibration import ROLES, Row, RowError, published_clocks, read_rows
from argus.clock.fitting import FITTED, Known
from argus.clock.parameters import PARAMETERS
from argus.clock.profile import Profile
from argus.clock.uncertainty import Regime, weighted_quantile
from argus.clock.validation import (
    fit,
    floor_of,
    judge,
    left_out,
    loss,
    rankings,
    residuals_of,
    score,
    share_inside,
    share_inside_without_family,
)

TRUE = PARAMETERS.with_values(power_matrix_bf16=900, power_valu=700, power_lds=400)


def _row(number: int, role: str, scale: float = 1.0, family: str = "made up") -> Row:
    share = 0.2 + 0.1 * (number % 8)
    cycles = 1e6 * (1 + number)
    profile = Profile(
        compute=((1250, 0.9 * cycles), (2100, cycles)),
        matrix={"bf16": share * cycles},
        valu=0.3 * share * cycles,
        lds=2e5,
        fabric_bytes=1e8,
        hbm_bytes=2e7 * number,
        l2_bytes=1e9,
    )
    names = (role, family, f"program {number}", f"shape {number % 4}", "bf16", 1e12, 1e8)
    row = Row(*names, 1.0, "graph" if number % 2 else "stream", (profile,))
    return replace(row, microseconds=scale * row.predicted_us(TRUE))


def _written(rows: list[Row], path: Path) -> Path:
    def line(row: Row) -> dict[str, object]:
        return {**asdict(row), "launches": [{"name": "one", "profile": each.to_json()} for each in row.launches]}

    path.write_text("\n".join(json.dumps(line(row)) for row in rows))
    return path


def test_fit_improves_and_uses_fit_rows_only(tmp_path: Path) -> None:
    rows = [_row(n, "fit") for n in range(4)]
    wild = [_row(n, "validate", scale=5) for n in range(8, 12)]
    start = PARAMETERS.with_values(power_matrix_bf16=300, power_valu=300)
    found = fit(rows, start, generations=40)
    assert loss(rows, found) < loss(rows, start)
    again = fit([*rows, *wild], start, generations=40)
    assert {name: found[name] for name in FITTED} == {name: again[name] for name in FITTED}
    assert read_rows([_written(rows, tmp_path / "rows.jsonl")]) == rows


def test_the_arrays_of_the_search_say_what_the_rows_say() -> None:
    """One row of two launches, one memory-bound, one burst: the same times as row by row."""
    rows = [_row(n, "fit") for n in range(6)]
    rows.append(replace(rows[0], launches=(*rows[0].launches, *rows[1].launches), protocol="cold"))
    rows.append(replace(rows[2], launches=(replace(rows[2].launches[0], hbm_bytes=2e10, atomics=1e5),)))
    rows.append(replace(rows[5], state="burst"))
    rows.append(replace(rows[4], data="positive"))
    numbers = np.array([[TRUE[name] for name in FITTED]])
    found = Known.of(rows, published_clocks(), TRUE).predicted(numbers, TRUE)[0]
    assert found[: len(rows)] == pytest.approx([row.predicted_us(TRUE) for row in rows], rel=2e-3)


def test_the_fit_tells_what_data_make_of_power() -> None:
    """The same launches with both kinds of data: the factor between them is found; without them it goes towards 1."""
    true = TRUE.with_values(power_positive=0.5)
    signed = [_row(n, "fit") for n in range(8)]
    rows = [replace(row, microseconds=row.predicted_us(true)) for row in signed]
    others = [replace(row, data="positive", family="others") for row in rows]
    rows += [replace(row, microseconds=row.predicted_us(true)) for row in others]
    assert all(a.microseconds > b.microseconds for a, b in zip(rows[:8], rows[8:], strict=True))
    found = fit(rows, TRUE.with_values(power_positive=0.9), generations=60)
    assert found["power_positive"] == pytest.approx(0.5, abs=0.08)
    assert fit(rows[:8], TRUE.with_values(power_positive=0.6), generations=60)["power_positive"] > 0.85


def test_a_perfect_clock_has_no_error_and_the_right_order() -> None:
    rows = [_row(n, "validate" if n % 2 else "fit") for n in range(12)]
    found = judge(rows, TRUE)
    assert len(found) == 6
    whole = score(found)
    assert (whole.median, whole.p90, whole.bias) == pytest.approx((0, 0, 0), abs=1e-9)
    assert all(each.rank == pytest.approx(1) for each in rankings(rows, TRUE).values())


def test_errors_are_of_time_and_negative_when_too_fast() -> None:
    (judged,) = judge([_row(1, "validate", scale=2.0)], TRUE)
    assert judged.error == pytest.approx(-0.5)
    assert judged.ratio == pytest.approx(2.0)


def test_a_program_counts_against_the_range_of_its_times() -> None:
    row = replace(_row(1, "validate"), runs=())
    time = row.microseconds
    inside = replace(row, microseconds=1.05 * time, runs=(0.95 * time, 1.1 * time))
    outside = replace(row, microseconds=1.3 * time, runs=(1.25 * time, 1.4 * time))
    assert inside.error(TRUE) == 0
    assert outside.error(TRUE) == pytest.approx(1 / 1.25 - 1)
    assert floor_of([row, inside]) == (pytest.approx(0.15 / 2.05), 1)


def test_every_family_weighs_the_same() -> None:
    many = [_row(n, "validate", scale=1.02, family="many") for n in range(20)]
    few = [_row(n, "validate", scale=1.3, family=f"few {n}") for n in range(3)]
    whole = score(judge([*many, *few], TRUE))
    assert whole.families == 4
    assert whole.median == pytest.approx(1 - 1 / 1.3)
    assert weighted_quantile([1.0, 2.0, 3.0], [1, 1, 8], 0.5) == 3.0


def test_limits_hold_nine_of_ten_and_a_family_is_judged_without_itself() -> None:
    rows = [_row(n, "fit", scale=1 + 0.02 * (n % 5), family=f"family {n % 4}") for n in range(20)]
    without = left_out(rows, TRUE)
    assert set(without) == {f"family {n}" for n in range(4)}
    judged = judge(rows, without, ("fit", "validate"))
    limits = residuals_of(judged)
    assert set(limits) == set(Regime)
    assert share_inside(judged, limits) >= 0.85


def test_a_family_unlike_the_others_is_outside_limits_made_without_it() -> None:
    usual = judge([_row(n, "fit", scale=1 + 0.02 * (n % 5), family=f"family {n % 4}") for n in range(20)], TRUE, ROLES)
    unlike = judge([_row(n, "validate", scale=2.0, family="unlike") for n in range(4)], TRUE, ROLES)
    assert share_inside_without_family(unlike, [*usual, *unlike]) == 0
    assert share_inside(unlike, residuals_of([*usual, *unlike])) == 1
    assert share_inside_without_family(unlike, unlike) is None


@pytest.mark.parametrize(("second", "runs", "expected"), [(105.0, (), 0), (130.0, (), 1), (130.0, (90.0, 130.0), 0)])
def test_pairs_count_when_they_differ_by_more_than_their_runs(
    second: float, runs: tuple[float, ...], expected: int
) -> None:
    rows = [
        replace(_row(0, "validate"), shape="same", microseconds=100.0),
        replace(_row(1, "validate"), shape="same", microseconds=second, runs=runs),
        replace(_row(2, "validate"), shape="same", microseconds=200.0),
    ]
    found = rankings(rows, TRUE)["same"]
    assert found.rank == pytest.approx(1 if not runs else 0.75**0.5)
    assert found.pairs == 2 + expected
    assert found.right == found.pairs


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"role": "guess"}, "none of fit"),
        ({"protocol": "warm"}, "none of graph"),
        ({"launches": []}, "at least one launch"),
    ],
)
def test_a_file_that_holds_no_rows_is_answered(tmp_path: Path, changed: dict[str, object], words: str) -> None:
    path = _written([_row(0, "fit")], tmp_path / "rows.jsonl")
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    with pytest.raises(RowError, match=rf"rows\.jsonl:1 is not a simulated row: .*{words}"):
        read_rows([path])
