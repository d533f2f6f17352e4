"""AITER's attention rows. The work of a workgroup depends on sequence and mask only: one is recorded for each pair."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from argus import machine
from argus.clock import Launch, Parameters, Recorded, Timing, estimate, time_waves
from argus.clock.launch import with_curve
from argus.clock.observe import observe
from bench.clock.rows import Measured, Timer, number, read
from bench.foreign import fmha

CLOCKS = (2100, 1250)
TILE, HEAD, HEADS = 256, 128, 8


def measured(facts: Path) -> Iterator[tuple[Measured, int, bool, int]]:
    """Rows with sequence length, mask, and workgroups."""
    for row in read(facts / "calibration.csv"):
        if row["kernel"] != "fmha fwd" or row["library_or_object"] != "AITER asm v3":
            continue
        batch, heads, k_heads, length = (
            number(p, row["shape"]) for p in (r"B(\d+)", r"Hq(\d+)", r"Hkv(\d+)", r"Sq(\d+)")
        )
        causal = "causal" in row["shape"]
        flops = 4.0 * batch * heads * length**2 * HEAD * (0.5 if causal else 1.0)
        tiles = -(-length // TILE)
        yield (
            Measured(
                role=row["role"],
                family="attention, AITER assembly",
                program=f"fmha_v3_fwd {'causal' if causal else 'full'}",
                shape=row["shape"],
                flops=flops,
                bytes=4.0 * batch * length * HEAD * (heads + k_heads),
                element="bf16",
                microseconds=flops / float(row["value"]) * 1e-6,
                source=row["source"],
            ),
            length,
            causal,
            (-(-tiles // 2) if causal else tiles) * heads * batch,
        )


def simulated(root: Path, facts: Path) -> Iterator[tuple[Measured, Timer]]:
    rows = list(measured(facts))
    for length, causal in sorted({(length, causal) for _, length, causal, _ in rows}):
        case = fmha.case("causal" if causal else "plain", length, length, HEADS, k_heads=1, lse=False)
        kernel = machine.load(root / case.path).kernel()
        seen = observe(kernel, case.grid, case.block, case.args, offsets=case.offsets, workgroups=[0], executor="jit")
        unit = _Unit(Recorded(seen.record, seen.insts, seen.kernel))
        for row, *key, grid in rows:
            if key == [length, causal]:
                yield row, partial(unit.launch, row, grid)


class _Unit:
    """One recorded workgroup; its timings under one set of parameters serve all rows of its length and mask."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self._timed: tuple[Parameters, list[Timing]] | None = None

    def launch(self, row: Measured, grid: int, parameters: Parameters) -> Launch:
        if self._timed is None or self._timed[0] is not parameters:
            ops, waves = self.recorded.waves(parameters)
            timings = [
                time_waves(ops, waves, self.recorded.resources, clock_mhz=clock, warm=True, parameters=parameters)
                for clock in CLOCKS
            ]
            self._timed = parameters, timings
        fast, slow = (
            estimate(
                timing,
                grid,
                flops=row.flops,
                hbm_bytes=row.bytes,
                element=row.element,
                warm=True,
                parameters=parameters,
            )
            for timing in self._timed[1]
        )
        return with_curve(fast, slow, parameters)
