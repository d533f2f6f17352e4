"""Fit and validation on rows made up from a known chip: the fit finds it, roles are kept apart, dummies are dummies."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from argus.clock.calibration import Row, RowError, fit, loss, read_rows, validate
from argus.clock.curve import Curve
from argus.clock.parameters import PARAMETERS

TRUE = PARAMETERS.with_values(power_matrix=900, power_valu=700, power_lds=400)


def _row(number: int, role: str, scale: float = 1.0) -> Row:
    share = 0.2 + 0.1 * (number % 8)
    curve = Curve(((2100, 1e6 * (1 + number)),), share * 1e6 * (1 + number), 0.3 * share * 1e6 * (1 + number), 2e5, 1e8)
    clock = curve.sustained(TRUE)
    us = scale * curve.microseconds(clock, TRUE)
    return Row(role, "made up", f"program {number}", f"shape {number % 4}", 1e12, 1e8, "bf16", us, "compute", curve)


def _written(rows: list[Row], path: Path) -> Path:
    path.write_text("\n".join(json.dumps({**asdict(row), "curve": row.curve.to_json()}) for row in rows))
    return path


def test_fit_improves_and_uses_fit_rows_only(tmp_path: Path) -> None:
    rows = [_row(n, "fit") for n in range(4)]
    wild = [_row(n, "validate", scale=5) for n in range(8, 12)]
    start = PARAMETERS.with_values(power_matrix=300, power_valu=300)
    found = fit(rows, start)
    assert loss(rows, found) < loss(rows, start)
    again = fit([*rows, *wild], start)
    assert {n: found[n] for n in found.rows if n.startswith("power")} == {
        n: again[n] for n in again.rows if n.startswith("power")
    }
    assert read_rows([_written(rows, tmp_path / "rows.jsonl")]) == rows


def test_a_perfect_clock_has_no_error_and_the_right_order() -> None:
    rows = [_row(n, "validate" if n % 2 else "fit") for n in range(12)]
    found = validate(rows, TRUE)
    assert len(found.rows) == 6
    assert found.median("clock") == pytest.approx(0, abs=1e-9)
    assert found.percentile90("clock") == pytest.approx(0, abs=1e-9)
    assert found.median("roofline") > 0
    assert all(rank == pytest.approx(1) for rank in found.ranks.values())


def test_errors_are_of_tflops() -> None:
    rows = [_row(1, "validate", scale=2.0)]
    judged = validate(rows, TRUE).rows[0]
    assert judged.error("clock") == pytest.approx(1.0)
    assert math.isclose(judged.row.tflops, 1e12 / rows[0].microseconds * 1e-6)


def test_a_family_without_fit_rows_is_given_the_constant_of_all() -> None:
    """Its own rows would tell the answer: half as efficient as the others, `told` knows and `constant` does not."""
    known = [replace(_row(n, "fit"), family="known", microseconds=1e12 / 500 * 1e-6) for n in range(4)]
    new = [replace(_row(n, "validate"), family="new", microseconds=1e12 / 250 * 1e-6) for n in range(4)]
    for judged in validate([*known, *new], TRUE).rows:
        assert judged.error("told") == pytest.approx(0, abs=0.05)
        assert judged.error("constant") == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(("second", "runs", "expected"), [(105.0, (), 0), (130.0, (), 1), (130.0, (90.0, 130.0), 0)])
def test_pairs_count_when_they_differ_by_more_than_their_runs(
    second: float, runs: tuple[float, ...], expected: int
) -> None:
    rows = [
        replace(_row(0, "validate"), shape="same", microseconds=100.0),
        replace(_row(1, "validate"), shape="same", microseconds=second, runs=runs),
        replace(_row(2, "validate"), shape="same", microseconds=200.0),
    ]
    found = validate(rows, TRUE)
    right, count = found.pairs["same"]
    assert found.ranks["same"] == pytest.approx(1)
    assert found.tied["same"] == pytest.approx(1 if not runs else 0.75**0.5)
    assert count == 2 + expected
    assert right == count


def test_a_file_that_holds_no_rows_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"role": "fit"}\n')
    with pytest.raises(RowError, match=r"rows\.jsonl:1 is not a simulated row"):
        read_rows([path])
