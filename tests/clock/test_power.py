"""The sustained clock: solved power equation, monotonicity, published clocks; the curve between two timed clocks."""

from __future__ import annotations

import pytest

from argus.clock.calibration import published_clocks
from argus.clock.curve import Curve
from argus.clock.parameters import PARAMETERS
from argus.clock.power import Activity, power, sustained_clock


@pytest.mark.parametrize("matrix", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("lds", [0.0, 0.5])
def test_a_throttled_clock_takes_exactly_the_limit(matrix: float, lds: float) -> None:
    activity = Activity(matrix=matrix, valu=0.4, lds=lds, memory_gbps=1000)
    clock = sustained_clock(lambda _: activity)
    if clock < 2100:
        assert power(activity, clock) == pytest.approx(750, rel=1e-4)
    else:
        assert power(activity, 2100) <= 750


def test_idle_launches_run_at_the_full_clock_and_busier_ones_never_faster() -> None:
    assert sustained_clock(lambda _: Activity()) == 2100
    clocks = [sustained_clock(lambda _, m=m: Activity(matrix=m / 10, valu=m / 10)) for m in range(11)]
    assert clocks == sorted(clocks, reverse=True)
    assert clocks[-1] < clocks[0]


@pytest.mark.parametrize("known", published_clocks(), ids=lambda known: known["name"])
def test_published_clocks(known: dict[str, float]) -> None:
    activity = Activity(*(known[name] for name in ("matrix", "valu", "lds", "memory_gbps", "hbm_gbps")))
    assert sustained_clock(lambda _: activity) == pytest.approx(known["clock_mhz"], rel=0.2)


def test_the_infinity_cache_can_be_read_as_fast_as_it_was_measured() -> None:
    """5600 GB/s from the MALL (RRZE gpu-cache): there must be power left for a clock that asks for that much."""
    clock = sustained_clock(lambda _: Activity(memory_gbps=5600))
    assert 304 * 32 * clock * 1e-3 > 5600


def test_curve_between_and_outside_its_points() -> None:
    curve = Curve(points=((2100, 100e3), (1200, 80e3)), matrix=60e3, valu=0, lds=0, bytes=0)
    assert curve.cycles(1650) == pytest.approx(90e3)
    assert curve.cycles(1200) == 80e3
    assert curve.cycles(600) == 80e3
    assert curve.activity(2100).matrix == pytest.approx(0.6)
    assert curve.microseconds(2000, PARAMETERS) == pytest.approx(curve.cycles(2000) / 2000 + PARAMETERS["launch_floor"])
    assert Curve.from_json(curve.to_json()) == curve


def test_traffic_counts_by_time_not_by_clock() -> None:
    curve = Curve(points=((1000, 1e6),), matrix=0, valu=0, lds=0, bytes=1e9, hbm=5e8)
    assert curve.activity(1000).memory_gbps == pytest.approx(1000)
    assert curve.activity(2000).memory_gbps == pytest.approx(2000)
    assert curve.activity(2000).hbm_gbps == pytest.approx(1000)
