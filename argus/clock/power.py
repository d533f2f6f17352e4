"""The clock a launch can sustain: the chip lowers it until the launch's activity fits into 750 W.

One function for all kernels:

    power(f) = idle + (f / 2100 MHz) ** exponent * (matrix * m + valu * v + lds * l + base)
               + memory * GB/s beyond the L2s + hbm * GB/s of memory

    m, l       how busy matrix cores and LDS banks are, averaged over the whole chip and the whole launch
    v          the same for the VALUs, where every instruction counts one turn of 4 clk: those that take 16 work on a
               quarter of the lanes at a time, and packed f32 instructions count twice: they do twice the work
    GB/s       bytes per time, outside the core's clock: all that passes the fabric, and what of it HBM itself moves

and the sustained clock is the highest f <= 2100 MHz with power(f) <= limit. Example: attention with the matrix cores
busy 73 % of the time settles near 1.26 GHz; the same kernel on a third of the chip runs at 2.1 GHz.

The numbers (`power_*` in parameters.json) come from `argus clock fit`: rows whose clock was published, and `fit` rows
of kernels whose program is at hand, where measured time and modelled cycles give the clock. They absorb errors of the
cycle model common to those kernels, are not measured watts, and say nothing about chips with another limit. Data
matters on real chips (zeros run 50 % faster than random numbers); this is for random data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from argus.clock.parameters import PARAMETERS, Parameters
from argus.gfx942.chip import CLOCK_MAX_MHZ

LOWEST_MHZ = 500.0
_STEPS = 24


@dataclass(frozen=True, slots=True)
class Activity:
    """How busy a launch keeps the chip, as shares of its units' clocks averaged over the launch, and its traffic."""

    matrix: float = 0.0
    valu: float = 0.0
    lds: float = 0.0
    memory_gbps: float = 0.0
    hbm_gbps: float = 0.0

    def to_json(self) -> dict[str, float]:
        return asdict(self)


def power(activity: Activity, clock_mhz: float, parameters: Parameters = PARAMETERS) -> float:
    """Watts at that clock."""
    switching = (
        parameters["power_matrix"] * activity.matrix
        + parameters["power_valu"] * activity.valu
        + parameters["power_lds"] * activity.lds
        + parameters["power_base"]
    )
    scale: float = (clock_mhz / CLOCK_MAX_MHZ) ** parameters["power_exponent"]
    moving = parameters["power_memory"] * activity.memory_gbps + parameters["power_hbm"] * activity.hbm_gbps
    return parameters["power_idle"] + scale * switching + moving


def sustained_clock(activity: Callable[[float], Activity], parameters: Parameters = PARAMETERS) -> float:
    """The highest clock whose power fits; `activity(f)` is what the launch does at clock f."""
    limit = parameters["power_limit"]
    low, high = LOWEST_MHZ, float(CLOCK_MAX_MHZ)
    if power(activity(high), high, parameters) <= limit:
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if power(activity(middle), middle, parameters) <= limit:
            low = middle
        else:
            high = middle
    return low
