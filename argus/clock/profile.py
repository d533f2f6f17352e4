"""What one launch asks of the chip, and from it the time at any clock: core cycles, and seconds of memory.

    profile = Profile(compute=((1250, 80e3), (2100, 100e3)), matrix={"bf16": 60e3}, fabric_bytes=3e8)
    profile.parts(2100)               -> {"compute": 47.6, "dispatch": 0.0, "l2": 0.0, "mall": 50.0, ...}  us
    profile.sustained()               -> the clock at which its activity takes the chip's 750 W
    profile.busy_microseconds(1391)   -> 59.8: the longest part at that clock, without the launch floor

Work of the core (matrix cores, VALUs, LDS, the L1 path, the L2, handing out workgroups) takes core clocks. The Infinity
Cache, HBM and atomics on one address run on clocks of their own and take seconds, whatever the core does. The compute
unit's own run is both at once: it waits for memory, whose latency is seconds. It is timed at two clocks or more;
between and beyond them cycles are a straight line in the clock, `core cycles + seconds * clock`, which is exact when
the same waits stay the longest.

All activity is a mean over the 304 compute units: no clock changes it. Everything a row of calibration needs to be
timed under other powers, roofs and floors is here, so nothing is simulated anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np

from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.power import Activity, sustained_clock
from argus.gfx942 import chip

MIXES = (0.0, 0.25, 0.5, 1.0)
"""Shares of writes at which the rate of the Infinity Cache was published: a read, three reads and a write, a copy, a
write. Between them it is a straight line."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One launch.

    compute         (clock in MHz, clocks until the last workgroup has ended), one or more
    matrix          element type -> clocks its matrix instructions keep the SIMDs' matrix cores busy
    valu            clocks of VALU work, 4 per instruction, 8 if packed
    transcendental  clocks of transcendental instructions among it, 4 each
    lds             clocks the LDS banks are busy, conflicts included
    vmem            clocks the L1 path is busy
    l2_bytes        bytes that miss the L1s
    fabric_bytes    bytes that miss the L2s, and bytes written
    written         bytes written
    hbm_bytes       bytes HBM moves; `hbm_written` of them are writes
    footprint       bytes of the tensors
    atomics         accesses to the busiest address, one after the other
    workgroups      of the launch
    """

    compute: tuple[tuple[float, float], ...]
    matrix: Mapping[str, float] = field(default_factory=dict)
    valu: float = 0.0
    transcendental: float = 0.0
    lds: float = 0.0
    vmem: float = 0.0
    l2_bytes: float = 0.0
    fabric_bytes: float = 0.0
    written: float = 0.0
    hbm_bytes: float = 0.0
    hbm_written: float = 0.0
    footprint: float = 0.0
    atomics: float = 0.0
    workgroups: int = 0

    def cycles(self, clock_mhz: float) -> float:
        """Clocks of the compute units' part."""
        points = sorted(self.compute)
        if len(points) == 1:
            return points[0][1]
        for (f0, c0), (f1, c1) in pairwise(points):
            if clock_mhz <= f1 or f1 == points[-1][0]:
                slope = max(0.0, (c1 - c0) / (f1 - f0))
                return max(c0 + slope * (clock_mhz - f0), 0.0)
        raise AssertionError("the last pair of points answers every clock")

    def parts(self, clock_mhz: float, parameters: Parameters = PARAMETERS) -> dict[str, float]:
        """Microseconds each resource alone needs."""
        return {
            "compute": self.cycles(clock_mhz) / clock_mhz,
            "dispatch": self.workgroups / chip.XCDS * parameters["dispatch_clocks"] / clock_mhz,
            "l2": self.l2_bytes / (parameters["l2_share"] * chip.XCDS) / clock_mhz,
            "mall": self.fabric_bytes / self.fabric_rate(parameters) * 1e-3,
            "hbm": self.hbm_bytes / parameters["hbm_bandwidth"] * 1e-3,
            "atomics": self.atomics * parameters["atomic_ns"] * 1e-3,
        }

    def fabric_rate(self, parameters: Parameters = PARAMETERS) -> float:
        """GB/s of the Infinity Cache for this mix of reads and writes: less when both come than for either alone."""
        share = min(1.0, self.written / self.fabric_bytes) if self.fabric_bytes else 0.0
        rates = (1.0, parameters["mall_mixed"], parameters["mall_mixed"], parameters["mall_written"])
        return parameters["mall_bandwidth"] * float(np.interp(share, MIXES, rates))

    def busy_microseconds(self, clock_mhz: float, parameters: Parameters = PARAMETERS) -> float:
        """Time from the first workgroup's start to the last one's end."""
        return max(self.parts(clock_mhz, parameters).values())

    def activity(self, clock_mhz: float, parameters: Parameters = PARAMETERS) -> Activity:
        microseconds = self.busy_microseconds(clock_mhz, parameters)
        cycles = microseconds * clock_mhz
        return Activity(
            matrix={name: clocks / cycles for name, clocks in self.matrix.items()},
            valu=self.valu / cycles,
            lds=self.lds / cycles,
            vmem=self.vmem / cycles,
            fabric_gbps=self.fabric_bytes / microseconds * 1e-3,
            hbm_gbps=self.hbm_bytes / microseconds * 1e-3,
        )

    def sustained(self, parameters: Parameters = PARAMETERS, gap: float = 0.0) -> float:
        """The predicted sustained clock in MHz: time and power at that clock agree; `gap`: us between two launches."""
        idle = gap * parameters["power_gaps"]

        def running(clock: float) -> float:
            busy = self.busy_microseconds(clock, parameters)
            return busy / (busy + idle)

        return sustained_clock(lambda clock: self.activity(clock, parameters), parameters, running)

    def with_points(self, other: Profile) -> Profile:
        """The same work with what a timing at another clock says about the clocks between."""
        return replace(self, compute=tuple(sorted({**dict(self.compute), **dict(other.compute)}.items())))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Profile:
        known = {name.name for name in fields(Profile)}
        unknown = set(data) - known
        if unknown:
            raise ValueError(f"a profile has no {', '.join(sorted(unknown))}")
        points = tuple((float(clock), float(cycles)) for clock, cycles in data["compute"])
        return Profile(**{**data, "compute": points})
