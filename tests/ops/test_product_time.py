"""The formula for times of products: bounds hold, the least estimate is chosen, a fit finds what made the times."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from argus.bench.candidates import CANDIDATES
from argus.bench.kept import LaunchAccount
from argus.bench.product_fit import ProductSample, chip_of, combining, fitted, plain, to_json
from argus.bench.product_shapes import LARGEST, LEAST, MOST, drawn
from argus.clock.profile import Profile
from argus.ops.choice import TURNED, able_at, choose_matmul, matmul_with, table
from argus.ops.product_choice import candidates, estimated, fastest
from argus.ops.product_time import (
    ProductModel,
    at_least,
    busy,
    closer,
    compute_clocks,
    estimate,
    model_of,
    parts_of,
    skewed,
    steps_of,
    sustained,
)

CHIP = chip_of()
SHAPES = [*drawn(3, 40), (1, 1, 1), (1, 256, 100_000), (1 << 17, 4, 64)]
ROW: dict[str, Any] = {
    "kernel": "matmul",
    "knobs": {"BM": 128, "BN": 128, "WM": 2, "WN": 2, "INST": 32, "DEPTH": 2, "STAGES": 1, "XM": "auto", "GROUP": 1},
}


def test_shapes_are_those_of_their_seed() -> None:
    assert drawn(5, 20) == drawn(5, 30)[:20]
    assert drawn(5, 20) != drawn(6, 20)
    for m, n, k in drawn(5, 50):
        assert 1 <= m <= LARGEST
        assert min(n, k) >= LEAST
        assert max(n, k) <= LARGEST
        assert n % 8 == k % 8 == 0
        assert m * n * k <= MOST


def test_bounds_are_below_every_estimate() -> None:
    known = candidates()
    rounded = 1 + 1e-9  # sums in another order
    for shape in SHAPES:
        bounds = at_least(known.chip, [model for model, _ in known.models], *shape)
        for bound, (model, row) in zip(bounds, known.models, strict=True):
            us = estimated(known.chip, model, row, *shape)
            nearer = closer(known.chip, model, *shape, bound)
            assert bound <= us * rounded
            assert bound <= nearer * rounded
            assert nearer <= us * 1.01  # the clock is found to about 1 %


def test_the_least_estimate_is_chosen() -> None:
    known = candidates()
    for shape in SHAPES:
        times = {
            str(row): estimated(known.chip, model, row, *shape) for model, row in known.models if able_at(row, *shape)
        }
        chosen = fastest(*shape, lambda row, shape=shape: able_at(row, *shape))  # type: ignore[misc]
        assert chosen is not None
        assert times[str(chosen)] <= min(times.values()) * 1.01


def test_only_what_is_able_is_chosen() -> None:
    assert choose_matmul(3000, 2000, 1000, "bf16", able=lambda row: row["kernel"] == "split").kernel == "split"
    assert fastest(3000, 2000, 1000, lambda row: False) is None


def test_a_tile_that_cannot_be_turned_is_not_taken_for_operands_stored_by_k() -> None:
    for shape in drawn(4, 30):
        choice = choose_matmul(*shape, "bf16", a_by_k=True, b_by_k=True)
        assert choice.file != "matmul_direct"
        assert {int(choice.knobs[side]) for side in ("BM", "BN")} <= set(TURNED)


def test_more_work_never_takes_less() -> None:
    for model in (plain(row, 1) for row in CANDIDATES[::4]):
        for m, n, k in SHAPES[:20]:
            whole = 64 * k  # rows that start at lines, however many there are
            us = estimate(CHIP, model, m, n, whole)
            assert estimate(CHIP, model, m, n, 2 * whole) >= us
            assert estimate(CHIP, model, 8 * m, n, whole) >= us * 0.99


def test_power_is_within_the_limit_and_near_it() -> None:
    for size in (4096, 8192, 16384):
        model = plain(ROW, 2)
        parts = parts_of(CHIP, model, size, size, size, 2)
        clock, us = sustained(CHIP, model, parts)
        assert clock < CHIP.top
        scale = (clock / CHIP.top) ** CHIP.exponent
        energy = scale * (parts.work / clock + CHIP.base * us) + parts.moved + CHIP.idle * (us + CHIP.launch)
        assert 0.88 < energy / (CHIP.limit * (us + CHIP.launch)) < 1.01


def test_rounds_are_of_the_fullest_compute_unit() -> None:
    model = replace(plain(ROW, 2), again=1.0)
    one, two, three = (compute_clocks(model, grid, 10, 0.0) for grid in (304, 305, 609))
    assert one == model.first[1] + 10 * model.step[0]
    assert two == model.first[2] + 10 * model.step[1]
    assert three == pytest.approx(two + one)


def _account(model: ProductModel, shape: tuple[int, int, int]) -> LaunchAccount:
    """What the clock would say of a launch that the model describes."""
    parts = parts_of(CHIP, model, *shape)
    clock, us = sustained(CHIP, model, parts)
    points = tuple((f, (busy(CHIP, model, parts, f)) * f) for f in (clock, CHIP.top))
    columns, rows = -(-shape[1] // model.bn), -(-shape[0] // model.bm)
    missed = 2.0 * shape[2] * (shape[0] * columns + shape[1] * rows) * (1 + 0.5 * skewed(shape[2]))
    grid = rows * columns
    matrix = grid * (model.work + steps_of(model, shape[2]) * model.step_work) / 1080.0
    profile = Profile(tuple(dict(points).items()), {"bf16": matrix}, l2_bytes=missed, workgroups=grid)
    return LaunchAccount(us + CHIP.launch, clock, 1.0, profile)


def test_a_fit_finds_a_model_again() -> None:
    guess = plain(ROW, 2)
    made = replace(
        guess, start=6000.0, each=900.0, wait=0.1, skew_work=0.0, step=[0.8 * s for s in guess.step], apart=1500.0,
    )  # fmt: skip
    shapes = [shape for shape in drawn(8, 60) if shape[0] >= 64 and math.prod(shape) < 1e11][:30]
    found = fitted(ROW, 2, [ProductSample(shape, 0, 1, _account(made, shape)) for shape in shapes])
    again = model_of({**ROW, "fit": to_json(found)})
    for shape in (s for s in drawn(9, 40) if s[0] >= 64):
        assert estimate(CHIP, again, *shape) == pytest.approx(estimate(CHIP, made, *shape), rel=0.05)


def test_adding_up_parts_has_a_least_time_and_a_rate() -> None:
    samples = [(size, CHIP.launch + max(1.2, size * 3e-7)) for size in (1e5, 1e6, 3e6, 1e7, 4e7)]
    assert combining(samples) == pytest.approx((1.2, 3e-7))


def test_every_candidate_of_the_table_is_a_kernel() -> None:
    known = {str((row["kernel"], row["knobs"])) for row in table("matmul")["candidates"]}
    assert len(known) == len(table("matmul")["candidates"])
    for row in CANDIDATES:
        assert matmul_with(row, 1024, 1024, 1024, "bf16").path.exists()
