"""A launch at any clock: cycles between the clocks it was timed at, and with them power and the sustained clock.

    curve = Curve(points=((1200, 80e3), (2100, 100e3)), matrix=60e3, valu=20e3, lds=30e3, bytes=5e8, hbm=1e8)
    curve.cycles(1650)       -> 90e3      memory is nearer, in clocks, when the core is slower
    curve.sustained()        -> 1391.0    the clock at which its activity takes the chip's 750 W
    curve.microseconds(1391)

`matrix`, `valu` (4 clk per instruction) and `lds` are clocks averaged over the chip's compute units: the work, which no
clock changes.
Between the timed clocks cycles are a straight line; outside, they stay at the nearer end's slope-free value.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.power import Activity, sustained_clock


@dataclass(frozen=True, slots=True)
class Curve:
    """Cycles of a launch by clock (MHz), its work, the bytes it moves beyond the L2s, and those that HBM moves."""

    points: tuple[tuple[float, float], ...]
    matrix: float
    valu: float
    lds: float
    bytes: float
    hbm: float = 0.0

    def cycles(self, clock_mhz: float) -> float:
        points = sorted(self.points)
        for (f0, c0), (f1, c1) in pairwise(points):
            if f0 <= clock_mhz <= f1 and f1 > f0:
                return c0 + (c1 - c0) * (clock_mhz - f0) / (f1 - f0)
        return points[0][1] if clock_mhz < points[0][0] else points[-1][1]

    def microseconds(self, clock_mhz: float, parameters: Parameters = PARAMETERS) -> float:
        return self.cycles(clock_mhz) / clock_mhz + parameters["launch_floor"]

    def activity(self, clock_mhz: float) -> Activity:
        cycles = self.cycles(clock_mhz)
        return Activity(
            matrix=self.matrix / cycles,
            valu=self.valu / cycles,
            lds=self.lds / cycles,
            memory_gbps=self.bytes * clock_mhz / cycles * 1e-3,
            hbm_gbps=self.hbm * clock_mhz / cycles * 1e-3,
        )

    def sustained(self, parameters: Parameters = PARAMETERS) -> float:
        """The predicted sustained clock in MHz."""
        return sustained_clock(self.activity, parameters)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Curve:
        points = tuple((float(f), float(c)) for f, c in data["points"])
        return Curve(points, data["matrix"], data["valu"], data["lds"], data["bytes"], data.get("hbm", 0.0))
