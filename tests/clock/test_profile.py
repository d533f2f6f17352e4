"""A launch at any clock: core work in clocks, memory in seconds, and the two at once on a compute unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.clock.parameters import PARAMETERS
from argus.clock.power import LOWEST_MHZ, power
from argus.clock.profile import Profile
from argus.clock.protocol import PROTOCOLS, floor

TWO = Profile(compute=((2100, 100e3), (1250, 80e3)), matrix={"bf16": 60e3})


def test_cycles_are_a_straight_line_between_and_beyond_the_timed_clocks() -> None:
    assert TWO.cycles(1675) == pytest.approx(90e3)
    assert TWO.cycles(1250) == pytest.approx(80e3)
    assert TWO.cycles(400) == pytest.approx(60e3)
    assert Profile(compute=((2100, 5e3),)).cycles(900) == 5e3


@given(core=st.floats(0, 1e6), seconds=st.floats(0, 500), clock=st.floats(600, 2100))
def test_core_cycles_and_seconds_of_waiting_are_told_apart(core: float, seconds: float, clock: float) -> None:
    """A unit that works `core` clocks and waits `seconds` microseconds, timed at two clocks, is known at all."""
    found = Profile(compute=tuple((f, core + seconds * f) for f in (1250.0, 2100.0)))
    assert found.cycles(clock) == pytest.approx(core + seconds * clock, abs=1e-6 * (core + seconds * clock) + 1e-6)


@pytest.mark.parametrize("clock", [900, 1300, 1700, 2100])
def test_memory_takes_seconds_whatever_the_clock(clock: float) -> None:
    found = Profile(compute=((2100, 1.0),), hbm_bytes=4e9, fabric_bytes=4e9, atomics=1e4)
    parts = found.parts(clock)
    assert parts["hbm"] == pytest.approx(4e9 / PARAMETERS["hbm_bandwidth"] * 1e-3)
    assert parts["mall"] == pytest.approx(4e9 / PARAMETERS["mall_bandwidth"] * 1e-3)
    assert parts["atomics"] == pytest.approx(1e4 * PARAMETERS["atomic_ns"] * 1e-3)
    assert found.parts(2100)["l2"] * 2100 == pytest.approx(found.parts(clock)["l2"] * clock)


@given(
    matrix=st.floats(0, 1e6),
    valu=st.floats(0, 1e6),
    core=st.floats(1e5, 2e6),
    hbm=st.floats(0, 2e9),
    wait=st.floats(0, 100),
)
def test_the_sustained_clock_is_a_fixed_point(matrix: float, valu: float, core: float, hbm: float, wait: float) -> None:
    """At that clock, and with the time at that clock, the launch takes the limit; or less, at the full clock."""
    points = tuple((f, core + wait * f) for f in (1250.0, 2100.0))
    found = Profile(compute=points, matrix={"bf16": min(matrix, core)}, valu=valu, hbm_bytes=hbm, fabric_bytes=hbm)
    clock = found.sustained()
    watts = power(found.activity(clock), clock)
    if clock == 2100:
        assert watts <= PARAMETERS["power_limit"]
    elif clock > LOWEST_MHZ + 1:
        assert watts == pytest.approx(PARAMETERS["power_limit"], rel=1e-3)


def test_points_are_joined_and_json_returns() -> None:
    joined = TWO.with_points(Profile(compute=((1500, 85e3),)))
    assert [clock for clock, _ in joined.compute] == [1250, 1500, 2100]
    assert Profile.from_json(joined.to_json()) == joined
    with pytest.raises(ValueError, match="a profile has no bytes"):
        Profile.from_json({**joined.to_json(), "bytes": 1})


def test_a_graph_hides_the_launch() -> None:
    floors = [floor(protocol) for protocol in PROTOCOLS]
    assert all(0 <= value < 7 for value in floors)
    assert floor("graph") < floor("stream")


def test_the_power_limit_holds_for_the_mean_over_launches_and_the_gaps_between_them() -> None:
    short = Profile(compute=((1250.0, 8000.0), (2100.0, 8000.0)), matrix={"bf16": 8000.0})
    alone, spaced = short.sustained(), short.sustained(gap=4.0)
    assert alone < spaced < 2100
    busy = short.busy_microseconds(spaced)
    idle = PARAMETERS["power_idle"]
    mean = idle + (power(short.activity(spaced), spaced) - idle) * busy / (busy + 4.0)
    assert mean == pytest.approx(PARAMETERS["power_limit"], rel=1e-3)
    assert short.sustained(PARAMETERS.with_values(power_gaps=0.0), gap=4.0) == alone


@pytest.mark.parametrize(
    ("written", "published"),
    [(0.0, 5420), (0.25, 4030), (0.5, 4180), (1.0, 4950)],
    ids=["read", "triad", "copy", "write"],
)
def test_rates_of_the_infinity_cache_by_mix_are_those_published(written: float, published: float) -> None:
    """RRZE gpu-l2-stream, relative to its reads."""
    found = Profile(compute=((2100.0, 1.0),), fabric_bytes=1e9, written=written * 1e9)
    assert found.fabric_rate() / PARAMETERS["mall_bandwidth"] == pytest.approx(published / 5420, rel=0.025)
