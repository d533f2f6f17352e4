"""The clock a launch can sustain: the chip lowers it until the launch's activity fits into 750 W.

One function for all kernels:

    power(f) = idle + (f / 2100 MHz) ** exponent * (base + sum of matrix * m + valu * v + lds * l + vmem * p)
               + fabric * GB/s beyond the L2s + hbm * GB/s of memory

    m          how busy matrix cores are with each format: bf16, f16, 8-bit floats, 8-bit integers, f32 and f64
    v          the same for the VALUs, where every instruction counts one turn of 4 clk: those that take 16 work on a
               quarter of the lanes at a time, and packed f32 instructions count twice: they do twice the work
    l, p       LDS banks and the path to the L1
    GB/s       bytes per time, outside the core's clock: all that passes the fabric, and what of it HBM itself moves

and the sustained clock is the highest f <= 2100 MHz at which the mean power is within the limit. Example: attention
with the matrix cores busy 73 % of the time settles near 1.2 GHz; the same kernel on a third of the chip runs at 2.1.

The limit holds for a mean over milliseconds, and launches come one after another with a gap between them, in which the
chip idles (the launch floor, `argus.clock.protocol`). A launch of 5 us with 1.4 us between two may take 920 W while it
runs.

Steady state and burst are apart. A chip that was idle runs some milliseconds above its limit: one published burst, 5 ms
of matrix instructions on registers alone, gives `power_limit_burst`. Everything else here is a steady state.

The numbers (`power_*` in parameters.json) come from `argus clock fit`: rows whose clock was published, and `fit` rows
of kernels whose program is at hand, where measured time and modelled cycles give the clock. They absorb errors of the
cycle model common to those kernels, are not measured watts, and say nothing about chips with another limit.

Data matters on real chips (AMD: an fp8 product of zeros runs at 1792 MHz, of trigonometric values at 1188). This is for
random data of both signs. Matrix cores take less of other data (`for_data`): `power_positive` of it for numbers between
0 and 1, whose signs never change (the same object at the same shapes takes 8 to 11 % less time), and `power_sines` of
it for sines and cosines, most of which lie near -1 and 1 and have the same exponent (AMD's own clocks).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

from argus.clock.parameters import PARAMETERS, Parameters
from argus.gfx942.chip import CLOCK_MAX_MHZ

Data = Literal["signed", "positive", "sines"]
"""What the factors of matrix products are: random numbers of both signs, those between 0 and 1, sines and cosines."""
DATA: tuple[Data, ...] = get_args(Data)
DATA_POWER: Mapping[Data, str] = MappingProxyType({"positive": "power_positive", "sines": "power_sines"})
"""Data -> the parameter with the matrix cores' power relative to that with random numbers of both signs."""
LOWEST_MHZ = 500.0
_STEPS = 24

MATRIX_POWER: Mapping[str, str] = MappingProxyType(
    {
        "bf16": "power_matrix_bf16",
        "f16": "power_matrix_f16",
        "fp8": "power_matrix_fp8",
        "bf8": "power_matrix_fp8",
        "i8": "power_matrix_i8",
        "f32": "power_matrix_f32",
        "xf32": "power_matrix_f32",
        "f64": "power_matrix_f32",
    }
)
"""Element type of a matrix instruction -> the parameter with its power."""


@dataclass(frozen=True, slots=True)
class Activity:
    """How busy a launch keeps the chip, as shares of its units' clocks averaged over the launch, and its traffic."""

    matrix: Mapping[str, float] = field(default_factory=dict)
    valu: float = 0.0
    lds: float = 0.0
    vmem: float = 0.0
    fabric_gbps: float = 0.0
    hbm_gbps: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def power(activity: Activity, clock_mhz: float, parameters: Parameters = PARAMETERS) -> float:
    """Watts at that clock."""
    switching = (
        sum(parameters[MATRIX_POWER[name]] * share for name, share in activity.matrix.items())
        + parameters["power_valu"] * activity.valu
        + parameters["power_lds"] * activity.lds
        + parameters["power_vmem"] * activity.vmem
        + parameters["power_base"]
    )
    scale: float = (clock_mhz / CLOCK_MAX_MHZ) ** parameters["power_exponent"]
    moving = parameters["power_memory"] * activity.fabric_gbps + parameters["power_hbm"] * activity.hbm_gbps
    return parameters["power_idle"] + scale * switching + moving


def sustained_clock(
    activity: Callable[[float], Activity],
    parameters: Parameters = PARAMETERS,
    running: Callable[[float], float] = lambda clock: 1.0,
) -> float:
    """The highest clock whose mean power fits.

    activity   clock -> what the launch does while it runs
    running    clock -> share of the time in which it runs; in the rest, the gaps between launches, the chip idles
    """
    limit, idle = parameters["power_limit"], parameters["power_idle"]

    def fits(clock: float) -> bool:
        return idle + running(clock) * (power(activity(clock), clock, parameters) - idle) <= limit

    low, high = LOWEST_MHZ, float(CLOCK_MAX_MHZ)
    if fits(high):
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def for_data(data: Data, parameters: Parameters = PARAMETERS) -> Parameters:
    """The same chip while it multiplies numbers of that kind."""
    if data == "signed":
        return parameters
    factor = parameters[DATA_POWER[data]]
    return parameters.with_values(**{name: factor * parameters[name] for name in set(MATRIX_POWER.values())})


def burst(parameters: Parameters = PARAMETERS) -> Parameters:
    """The same chip during its first milliseconds after idling."""
    return parameters.with_values(power_limit=parameters["power_limit_burst"])
