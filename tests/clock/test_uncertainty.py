"""Regimes from profiles, intervals around times, verdicts of pairs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from programs import LANE, Program, load

from argus.clock.launch import Launch, estimate
from argus.clock.model import Resources, time_waves
from argus.clock.paired import decided, paired
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.profile import Profile
from argus.clock.sensitivity import perturbed
from argus.clock.uncertainty import Regime, described, interval_of, regime_of, regime_of_profile, residuals

LONG = ((1250.0, 2e6), (2100.0, 2e6))


@pytest.mark.parametrize(
    ("profile", "regime"),
    [
        (Profile(compute=LONG, matrix={"bf16": 1.8e6}, valu=1e5), Regime.GEMM),
        (Profile(compute=LONG, matrix={"bf16": 1.2e6}, valu=8e5, transcendental=1e5), Regime.ATTENTION),
        (Profile(compute=LONG, matrix={"fp8": 1.2e6}), Regime.EIGHT_BIT),
        (Profile(compute=LONG, matrix={"i8": 1.2e6}), Regime.EIGHT_BIT),
        (Profile(compute=((2100.0, 3e4),), matrix={"bf16": 2e4}), Regime.SMALL),
        (Profile(compute=LONG, valu=1e4), Regime.SMALL),
        (Profile(compute=LONG, hbm_bytes=8e9, fabric_bytes=8e9), Regime.MEMORY),
    ],
)
def test_regimes(profile: Profile, regime: Regime) -> None:
    assert regime_of_profile(profile) is regime


def _launch(parameters: Parameters = PARAMETERS, grid: int = 304 * 2000) -> Launch:
    program = Program()
    for number in range(8):
        program.add(program.vmem(), load(16, LANE * 16 + 1024 * number))
    timing = time_waves(program.ops, {0: [program.wave()]}, Resources(vgprs=32), parameters=parameters)
    return estimate(timing, grid, parameters=parameters)


def test_an_interval_holds_its_time_and_grows_with_the_errors_of_the_sample() -> None:
    launch = _launch()
    found = interval_of(launch)
    time = launch.sustained.microseconds
    assert found.low < time < found.high
    assert found.regime is regime_of(launch) is Regime.MEMORY
    wider = interval_of(replace(launch, sharing_error=0.3))
    assert wider.low < found.low
    assert wider.high > found.high
    assert described(launch) == f"{time:.0f} µs ({found.low:.0f} to {found.high:.0f}, memory-bound)"
    both = interval_of(launch, launch)
    assert (both.low, both.high) == pytest.approx((2 * found.low, 2 * found.high))


@pytest.mark.parametrize(
    ("regime", "widest"),
    [
        (Regime.GEMM, 1.6),
        (Regime.ATTENTION, 1.3),
        (Regime.EIGHT_BIT, 1.8),
        (Regime.SMALL, 2.0),
        (Regime.MEMORY, 1.5),
    ],
)
def test_no_interval_is_empty_and_none_is_wider_than_what_the_docs_state(regime: Regime, widest: float) -> None:
    known = residuals()[regime]
    assert 1 < known.high / known.low < widest


@pytest.mark.parametrize("regime", [Regime.GEMM, Regime.ATTENTION])
def test_no_wider_than_twenty_percent_each_way(regime: Regime) -> None:
    """As a width. Dense GEMM does not lie around the printed time: docs/clock.md says which row makes that so."""
    known = residuals()[regime]
    assert known.high - known.low < 0.4
    assert known.high / known.low < 1.5


def test_attention_lies_within_twenty_percent_on_either_side() -> None:
    known = residuals()[Regime.ATTENTION]
    assert known.low > 0.8
    assert known.high < 1.2


@pytest.mark.parametrize(
    ("nominal", "moved", "spread", "verdict"),
    [(-0.2, 0.02, 0.03, "faster"), (0.2, 0.02, 0.03, "slower"), (-0.05, 0.02, 0.06, "tie"), (-0.05, 0.06, 0.0, "tie")],
)
def test_verdicts(nominal: float, moved: float, spread: float, verdict: str) -> None:
    found = decided(nominal, [nominal - moved, nominal + moved], spread)
    assert found.verdict == verdict
    assert found.ratio == pytest.approx(math.exp(nominal))
    assert found.low < found.ratio < found.high


def test_a_launch_ties_with_itself_and_beats_twice_its_work() -> None:
    def once(parameters: Parameters) -> list[Launch]:
        return [_launch(parameters)]

    def twice(parameters: Parameters) -> list[Launch]:
        return [_launch(parameters, 304 * 4000)]

    same = paired(once, once, clocks=3, same_family=True)
    assert (same.verdict, same.low, same.high) == ("tie", 1, 1)
    assert paired(once, once, clocks=3).high > 1.02
    assert paired(once, twice, clocks=3).verdict == "faster"
    assert paired(twice, once, clocks=3).verdict == "slower"


def test_everything_fitted_or_assumed_is_perturbed() -> None:
    clocks = perturbed(count=6)
    still = {name for name in PARAMETERS.rows if len({clock.rows[name].value for clock in clocks}) == 1}
    wanted = {row.name for row in PARAMETERS.rows.values() if row.confidence in ("assumed", "X")}
    wanted |= {"hbm_bandwidth", "vmem_least_clocks", "atomic_ns", "mall_bandwidth"}
    assert wanted - still == wanted, wanted & still
