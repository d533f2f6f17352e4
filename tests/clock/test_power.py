"""The sustained clock: solved power equation, monotonicity, published clocks, bursts apart from steady states."""

from __future__ import annotations

from typing import Any

import pytest

from argus.clock.calibration import published_clocks
from argus.clock.parameters import PARAMETERS
from argus.clock.power import DATA_POWER, MATRIX_POWER, Activity, Data, burst, for_data, power, sustained_clock
from argus.gfx942.mfma import MFMA

STEADY = [run for run in published_clocks() if run["state"] == "steady"]
BURST = [run for run in published_clocks() if run["state"] == "burst"]


def _activity(run: dict[str, Any]) -> Activity:
    return Activity(**{name: run[name] for name in ("matrix", "valu", "lds", "vmem", "fabric_gbps", "hbm_gbps")})


@pytest.mark.parametrize("matrix", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("lds", [0.0, 0.5])
def test_a_throttled_clock_takes_exactly_the_limit(matrix: float, lds: float) -> None:
    activity = Activity(matrix={"bf16": matrix}, valu=0.4, lds=lds, fabric_gbps=1000)
    clock = sustained_clock(lambda _: activity)
    if clock < 2100:
        assert power(activity, clock) == pytest.approx(750, rel=1e-4)
    else:
        assert power(activity, 2100) <= 750


def test_idle_launches_run_at_the_full_clock_and_busier_ones_never_faster() -> None:
    assert sustained_clock(lambda _: Activity()) == 2100
    clocks = [sustained_clock(lambda _, m=m: Activity(matrix={"bf16": m / 10}, valu=m / 10)) for m in range(11)]
    assert clocks == sorted(clocks, reverse=True)
    assert clocks[-1] < clocks[0]


@pytest.mark.parametrize("run", STEADY, ids=lambda run: run["name"])
def test_published_clocks(run: dict[str, Any]) -> None:
    within = 0.04 if run["family"] == "AMD" else 0.2
    used = for_data(run["data"])
    assert sustained_clock(lambda _: _activity(run), used) == pytest.approx(run["clock_mhz"], rel=within)


def test_the_published_burst_is_above_the_steady_clock_and_within_the_burst_limit() -> None:
    (run,) = BURST
    steady = sustained_clock(lambda _: _activity(run))
    assert steady < 0.95 * run["clock_mhz"]
    assert sustained_clock(lambda _: _activity(run), burst()) == pytest.approx(run["clock_mhz"], rel=0.01)


def test_every_matrix_instruction_has_a_power() -> None:
    assert {row.a for row in MFMA.values()} <= set(MATRIX_POWER)
    assert set(MATRIX_POWER.values()) <= set(PARAMETERS.rows)


@pytest.mark.parametrize(("data", "name"), DATA_POWER.items())
def test_other_data_take_less_power_in_the_matrix_cores_only(data: Data, name: str) -> None:
    other, factor = for_data(data), PARAMETERS[name]
    assert for_data("signed") is PARAMETERS
    assert 0 < factor < 1
    for busy in (Activity(valu=0.5, lds=0.5, vmem=0.5, hbm_gbps=1000), Activity()):
        assert power(busy, 1500, other) == power(busy, 1500)
    multiplying = Activity(matrix={"bf16": 0.5, "fp8": 0.4})
    idle = power(Activity(), 1500)
    assert power(multiplying, 1500, other) - idle == pytest.approx(factor * (power(multiplying, 1500) - idle))


def test_the_infinity_cache_can_be_read_as_fast_as_it_was_measured() -> None:
    """5600 GB/s from the MALL (RRZE gpu-cache): there must be power left for a clock that asks for that much."""
    clock = sustained_clock(lambda _: Activity(fabric_gbps=5600))
    assert 304 * 32 * clock * 1e-3 > 5600
