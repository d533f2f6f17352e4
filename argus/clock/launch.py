"""From one compute unit to a whole launch: places of workgroups, bytes by level, the launch floor, two clocks.

    estimate(timing, grid=4096, flops=2 * 4096**3, hbm_bytes=...)  -> Launch(cycles=..., microseconds=..., tflops=...)

Workgroups go to the 8 XCDs in turn, so the fullest XCD has ceil(grid / 8), spread over 38 CUs: the fullest CU runs
ceil(ceil(grid / 8) / 38) of them, `resident` at a time. A last round with fewer workgroups is timed with `tail` when
given, else as a full round. Short workgroups are timed with those that follow them, out of step
(`argus.clock.succession`). When workgroups differ (`work`: instructions of sampled ones relative to the timed one),
they are handed out one by one (`argus.clock.dispatch`). The launch takes the longest of

    compute   the last workgroup's end, with the time a workgroup's successor needs to start
    dispatch  workgroups of an XCD, handed out one after the other
    l2        bytes that miss the L1 of all CUs, at the L2's bandwidth, which goes with the core clock
    mall      bytes that miss the L2s, at the Infinity Cache's bandwidth, in seconds
    hbm       bytes that must come from and go to memory, at the HBM's bandwidth, in seconds
    atomics   atomic accesses to the busiest address, one after the other, in seconds

plus the launch floor of the protocol (`argus.clock.protocol`). What the launch asks of the chip is its `profile`; time
at any clock follows from that. `hbm_bytes` (the tensors' size) should be given; without it each workgroup's own
footprint is used, which counts shared data once per workgroup and is an upper bound. Where that bound is clearly below
the tensors' size it counts, too: of a cache of keys a launch reads what its requests have. Tensors that fit into the
Infinity Cache are read from memory once, or not at all when it starts `warm`. Of larger ones, the first round of
workgroups reads what its L2s miss from memory, once for all XCDs that miss it at about the same time (`across`) and
without what the Infinity Cache holds when it is missed again (`from_memory`), and later rounds what the Infinity Cache
has not kept (`missing_again`, `argus.clock.mall`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from argus.clock.dispatch import finish, nearest, work_of_all
from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.profile import Profile
from argus.clock.protocol import Protocol, floor
from argus.clock.timing import LABEL, Timing
from argus.clock.uncertainty import described, interval_of
from argus.gfx942 import chip

UNTOUCHED = 0.9
"""Footprints below this share of the tensors say that a part of them is not touched; above, they are rounded to lines
and sampled."""


@dataclass(frozen=True, slots=True)
class Sustained:
    """The launch at the clock its power allows (`argus.clock.power`)."""

    clock_mhz: float
    cycles: float
    microseconds: float
    tflops: float | None
    matrix_peak_share: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Launch:
    """Estimate of one launch; `bound` names the longest of `parts` (clocks each, at `clock_mhz`)."""

    grid: int
    rounds: float
    cycles: float
    clock_mhz: float
    microseconds: float
    bound: str
    parts: Mapping[str, float]
    tflops: float | None
    matrix_peak_share: float | None
    hbm_gbps: float
    hbm_load: float
    mall_load: float
    hbm_bytes: float
    notes: tuple[str, ...]
    profile: Profile
    protocol: Protocol
    flops: float | None
    element: str | None
    work_error: float | None
    sharing_error: float
    iteration_error: float
    sustained: Sustained

    def load(self, level: Literal["mall", "hbm"]) -> float:
        """Share of the level's bandwidth in use; the Infinity Cache's is that of reads, whatever the mix."""
        return self.mall_load if level == "mall" else self.hbm_load

    def to_json(self) -> dict[str, Any]:
        return {
            "label": LABEL,
            "grid": self.grid,
            "rounds": self.rounds,
            "cycles": self.cycles,
            "clock_mhz": self.clock_mhz,
            "microseconds": self.microseconds,
            "bound": self.bound,
            "parts_clk": dict(self.parts),
            "tflops": self.tflops,
            "matrix_peak_share": self.matrix_peak_share,
            "hbm_gbps": self.hbm_gbps,
            "hbm_load": self.hbm_load,
            "hbm_bytes": self.hbm_bytes,
            "protocol": self.protocol,
            "profile": self.profile.to_json(),
            "activity": self.profile.activity(self.clock_mhz).to_json(),
            "sustained": self.sustained.to_json(),
            "interval": interval_of(self).to_json(),
            "work_standard_error": self.work_error,
            "sharing_error": self.sharing_error,
            "iteration_error": self.iteration_error,
            "notes": list(self.notes),
        }

    def summary(self) -> str:
        """Time at the sustained clock with its interval, in one line."""
        return f"{described(self)} at the sustained clock of {self.sustained.clock_mhz:.0f} MHz{_rates(self.sustained)}"

    def sampling(self) -> str:
        """What the sample leaves open, as shares of the figure each concerns."""
        parts = [f"cycles +- {100 * self.iteration_error:.1f} % (iterations of loops)"]
        if self.work_error is not None:
            parts.append(f"work per workgroup +- {100 * self.work_error:.1f} %")
        if self.sharing_error:
            parts.append(f"sharing of cache lines +- {100 * self.sharing_error:.1f} %")
        return "sampling: " + ", ".join(parts)

    def text(self) -> str:
        parts = "  ".join(f"{name} {clocks:.0f}" for name, clocks in self.parts.items())
        return "\n".join(
            [
                LABEL,
                f"{self.summary()}, protocol {self.protocol}",
                f"{self.grid} workgroups; at {self.clock_mhz:.0f} MHz {self.microseconds:.2f} us; "
                f"{self.hbm_gbps:.0f} GB/s of memory",
                f"longest part: {self.bound}; clocks of each: {parts}",
                self.sampling(),
                *(f"note: {note}" for note in self.notes),
            ]
        )


def _rates(found: Sustained) -> str:
    rate = "" if found.tflops is None else f", {found.tflops:.1f} TFLOPS"
    share = "" if found.matrix_peak_share is None else f" ({100 * found.matrix_peak_share:.1f} % of matrix peak)"
    return rate + share


def workgroups_on_fullest_cu(grid: int) -> int:
    """Workgroups of the CU that gets most of them."""
    on_fullest_xcd = -(-grid // chip.XCDS)
    return -(-on_fullest_xcd // chip.CUS_PER_XCD)


def kept_by_mall(parameters: Parameters = PARAMETERS) -> float:
    """Bytes of tensors that the Infinity Cache holds from one launch to the next."""
    return parameters["mall_usable"] * chip.count("mall_bytes")


def resident_workgroups(grid: int, occupancy: int) -> int:
    """Workgroups that share the fullest CU at a time: small grids do not fill it."""
    return max(1, min(occupancy, workgroups_on_fullest_cu(grid)))


def estimate(
    timing: Timing,
    grid: int,
    *,
    tail: Timing | None = None,
    flops: float | None = None,
    hbm_bytes: float | None = None,
    element: str | None = None,
    clock_mhz: float | None = None,
    work: Mapping[int, float] | None = None,
    warm: bool = False,
    hot_atomics: float = 0.0,
    sharing_error: float = 0.0,
    across: float = 1.0,
    missing_again: float | None = None,
    from_memory: float = 1.0,
    protocol: Protocol = "stream",
    parameters: Parameters = PARAMETERS,
) -> Launch:
    """Estimate of a launch of `grid` workgroups like the timed ones.

    work         workgroup -> its instructions relative to the timed workgroups, for a sample of the grid
    warm         the tensors were used before and lie in the Infinity Cache as far as they fit
    hot_atomics  atomic accesses to the busiest address
    across       misses of the L2s per line that comes from memory, as several XCDs miss it at about the same time
    missing_again  share of a later round's lines that the Infinity Cache has not kept; None: by proportion
    from_memory  share of a round's misses of the L2s that the Infinity Cache does not hold either
    protocol     how the time would be taken
    """
    if grid < 1:
        raise ValueError(f"a launch has at least one workgroup, not {grid}")
    clock = timing.clock_mhz if clock_mhz is None else clock_mhz
    notes = [*timing.notes]
    per_cu = workgroups_on_fullest_cu(grid)
    error = None
    per_group = grid / timing.resident
    if timing.round_clocks is not None and (work is None or len(set(work.values())) == 1):
        compute = timing.cycles + timing.round_clocks * (per_cu / timing.resident - 1)
    elif work is None or len(set(work.values())) == 1:
        full, rest = divmod(per_cu, timing.resident)
        last = (tail or timing).cycles if rest else 0
        compute = full * timing.cycles + last + parameters["workgroup_turnaround"] * (full + (rest > 0) - 1)
        if rest and tail is None:
            notes.append(
                f"the last round has {rest} of {timing.resident} workgroups per CU and is counted as a full one"
            )
    else:
        shares = (work_of_all if parameters["work_by_xcd"] else nearest)(work, grid)
        places = chip.CUS_PER_XCD * timing.resident
        compute = finish([timing.cycles * share for share in shares], places, parameters["workgroup_turnaround"])
        per_group = sum(shares) / timing.resident
        error = _standard_error(list(work.values()))
    beyond_l1 = timing.filled_bytes * per_group
    beyond_l2 = sum(timing.read_bytes[level] for level in ("mall", "hbm")) * per_group if timing.sharing_known else 0.0
    touched = (timing.footprint_bytes + timing.written_bytes) * per_group
    if hbm_bytes is None:
        hbm_bytes = touched
        notes.append("memory bytes: every workgroup's own footprint, shared data counted once per workgroup")
    elif timing.sharing_known and touched < UNTOUCHED * hbm_bytes:
        notes.append(f"of {hbm_bytes / 1e6:.0f} MB of tensors at most {touched / 1e6:.0f} MB are read or written")
        hbm_bytes = touched
    written = timing.written_bytes * per_group
    rounds = max(1.0, per_cu / timing.resident)
    fits = min(1.0, kept_by_mall(parameters) / hbm_bytes) if hbm_bytes else 1.0
    by_proportion = missing_again is None or not parameters["mall_replacement"]
    again = 1 - fits if missing_again is None or by_proportion else missing_again
    per_round = beyond_l2 * (from_memory if parameters["mall_replacement"] else 1.0) / across / rounds
    if fits == 1.0:
        moved = 0.0 if warm else hbm_bytes
    else:
        moved = max(hbm_bytes, per_round * (1 + (rounds - 1) * again) + min(written, hbm_bytes))
    on_chip = per_group / chip.CUS
    profile = Profile(
        compute=((clock, compute),),
        matrix={name: clocks * on_chip / chip.SIMDS_PER_CU for name, clocks in timing.matrix_clocks.items()},
        valu=timing.valu_turns * on_chip / chip.SIMDS_PER_CU,
        transcendental=timing.transcendental_turns * on_chip / chip.SIMDS_PER_CU,
        lds=timing.utilisation["lds banks"] * timing.cycles * on_chip,
        vmem=timing.vmem_clocks * on_chip,
        l2_bytes=beyond_l1,
        fabric_bytes=max(beyond_l2 + written, hbm_bytes),
        written=written,
        hbm_bytes=moved,
        hbm_written=min(written, moved),
        footprint=hbm_bytes,
        atomics=hot_atomics,
        workgroups=grid,
    )
    parts = {name: time * clock for name, time in profile.parts(clock, parameters).items()}
    bound = max(parts, key=lambda name: parts[name])
    microseconds = parts[bound] / clock + floor(protocol, parameters)
    tflops = None if flops is None else flops / microseconds * 1e-6
    share = None if tflops is None or element is None else tflops / chip.matrix_peak_tflops(element, clock)
    return Launch(
        grid=grid,
        rounds=per_cu / timing.resident,
        cycles=parts[bound],
        clock_mhz=clock,
        microseconds=microseconds,
        bound=bound,
        parts=parts,
        tflops=tflops,
        matrix_peak_share=share,
        hbm_gbps=moved / microseconds * 1e-3,
        hbm_load=parts["hbm"] / parts[bound],
        mall_load=profile.fabric_bytes / parameters["mall_bandwidth"] * 1e-3 * clock / parts[bound],
        hbm_bytes=moved,
        notes=tuple(notes),
        profile=profile,
        protocol=protocol,
        flops=flops,
        element=element,
        work_error=error,
        sharing_error=sharing_error,
        iteration_error=timing.iteration_error,
        sustained=_sustained(profile, protocol, flops, element, parameters),
    )


def with_timing(launch: Launch, other: Launch, parameters: Parameters = PARAMETERS) -> Launch:
    """The launch with what a timing at another clock says about the clocks between."""
    profile = launch.profile.with_points(other.profile)
    held = _sustained(profile, launch.protocol, launch.flops, launch.element, parameters)
    return replace(launch, profile=profile, sustained=held)


def _sustained(
    profile: Profile, protocol: Protocol, flops: float | None, element: str | None, parameters: Parameters
) -> Sustained:
    gap = floor(protocol, parameters)
    clock = profile.sustained(parameters, gap)
    busy = profile.busy_microseconds(clock, parameters)
    microseconds = busy + gap
    tflops = None if flops is None else flops / microseconds * 1e-6
    share = None if tflops is None or element is None else tflops / chip.matrix_peak_tflops(element)
    return Sustained(clock, busy * clock, microseconds, tflops, share)


def _standard_error(samples: list[float]) -> float:
    """Standard error of the mean of samples, relative to it."""
    mean = sum(samples) / len(samples)
    if len(samples) < 2 or mean == 0:
        return 0.0
    variance = sum((value - mean) ** 2 for value in samples) / (len(samples) - 1)
    return math.sqrt(variance / len(samples)) / mean
