"""From one compute unit to a whole launch: rounds of workgroups, roofs of bandwidth, the launch floor.

    estimate(timing, grid=4096, flops=2 * 4096**3, hbm_bytes=...)  -> Launch(cycles=..., microseconds=..., tflops=...)

Workgroups go to the 8 XCDs in turn, so the fullest XCD has ceil(grid / 8), spread over 38 CUs: the fullest CU runs
ceil(ceil(grid / 8) / 38) of them, `resident` at a time. A last round with fewer workgroups is timed with `tail` when
given, else as a full round. The launch takes the longest of

    compute   rounds on the fullest CU, with the time a workgroup's successor needs to start
    l2        bytes that miss the L1 of all CUs, at the L2's bandwidth
    mall      bytes that miss the L2s, at the Infinity Cache's bandwidth
    hbm       bytes that must come from and go to memory, at the HBM's bandwidth

plus the launch floor, which is time, not clocks. This is a first estimate: no tail overlap, no skew between CUs, no
power-limited clock. `hbm_bytes` (the tensors' size) should be given; without it each workgroup's own footprint is used,
which counts shared data once per workgroup and is an upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from argus.clock.parameters import PARAMETERS, Parameters
from argus.clock.timing import LABEL, Timing
from argus.gfx942 import chip


@dataclass(frozen=True, slots=True)
class Launch:
    """Estimate of one launch; `bound` names the longest of `parts` (clocks each)."""

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
    hbm_bytes: float
    notes: tuple[str, ...]

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
            "notes": list(self.notes),
        }

    def text(self) -> str:
        rate = "" if self.tflops is None else f", {self.tflops:.1f} TFLOPS"
        share = "" if self.matrix_peak_share is None else f" ({100 * self.matrix_peak_share:.1f} % of matrix peak)"
        parts = "  ".join(f"{name} {clocks:.0f}" for name, clocks in self.parts.items())
        return "\n".join(
            [
                LABEL,
                f"{self.grid} workgroups: {self.microseconds:.2f} us at {self.clock_mhz:.0f} MHz{rate}{share}, "
                f"{self.hbm_gbps:.0f} GB/s of memory",
                f"bound by {self.bound}; clocks: {parts}",
                *(f"note: {note}" for note in self.notes),
            ]
        )


def workgroups_on_fullest_cu(grid: int) -> int:
    """Workgroups of the CU that gets most of them."""
    on_fullest_xcd = -(-grid // chip.XCDS)
    return -(-on_fullest_xcd // chip.CUS_PER_XCD)


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
    parameters: Parameters = PARAMETERS,
) -> Launch:
    """First estimate of a launch of `grid` workgroups like the timed ones."""
    if grid < 1:
        raise ValueError(f"a launch has at least one workgroup, not {grid}")
    clock = timing.clock_mhz if clock_mhz is None else clock_mhz
    per_cu = workgroups_on_fullest_cu(grid)
    full, rest = divmod(per_cu, timing.resident)
    last = (tail or timing).cycles if rest else 0
    compute = full * timing.cycles + last + parameters["workgroup_turnaround"] * (full + (rest > 0) - 1)
    notes = [*timing.notes]
    if rest and tail is None:
        notes.append(f"the last round has {rest} of {timing.resident} workgroups per CU and is counted as a full one")
    per_group = grid / timing.resident
    beyond_l1 = timing.filled_bytes * per_group
    beyond_l2 = sum(timing.read_bytes[level] for level in ("mall", "hbm")) * per_group if timing.sharing_known else 0.0
    if hbm_bytes is None:
        hbm_bytes = (timing.footprint_bytes + timing.written_bytes) * per_group
        notes.append("memory bytes: every workgroup's own footprint, shared data counted once per workgroup")
    gigabytes = clock * 1e-3
    parts = {
        "compute": compute,
        "l2": beyond_l1 / (parameters["l2_share"] * chip.XCDS),
        "mall": max(beyond_l2, hbm_bytes) * gigabytes / parameters["mall_bandwidth"],
        "hbm": hbm_bytes * gigabytes / parameters["hbm_bandwidth"],
    }
    bound = max(parts, key=lambda name: parts[name])
    microseconds = parts[bound] / clock + parameters["launch_floor"]
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
        hbm_gbps=hbm_bytes / microseconds * 1e-3,
        hbm_load=parts["hbm"] / parts[bound],
        hbm_bytes=hbm_bytes,
        notes=tuple(notes),
    )
