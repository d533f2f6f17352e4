"""AITER's attention rows. The work of a workgroup depends on sequence and mask only: one is recorded for each pair.

Who shares keys and values in the L2 of an XCD follows from the placement of the real grid: the workgroups of one XCD
read their head's blocks in order, start a little apart, and pass one cache (`fetches_per_miss`). Every eighth workgroup
is on an XCD, so at 1024 keys each head's keys and values cross to all XCDs, and a longer causal sequence, of which
workgroups are at different places, does not stay in 4 MB.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from argus import machine
from argus.bench.foreign import fmha
from argus.clock import Launch, Parameters, Recorded, Timing, estimate, time_waves
from argus.clock.caches import Lru
from argus.clock.launch import with_timing
from argus.clock.observe import observe
from argus.clock.xcd import SKEW
from argus.gfx942 import chip
from bench.clock.rows import Measured, Timer, number, read

CLOCKS = (2100, 1250)
TILE, HEAD, HEADS = 256, 128, 8
KEYS = 64
BLOCK = 2 * 2 * KEYS * HEAD
"""Bytes of the keys and values of one step."""
ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Shape:
    batch: int
    heads: int
    k_heads: int
    length: int
    causal: bool

    @property
    def tiles(self) -> int:
        return -(-self.length // TILE)

    @property
    def across(self) -> int:
        """Workgroups of a head; with a mask each takes one early and one late tile."""
        return -(-self.tiles // 2) if self.causal else self.tiles

    @property
    def grid(self) -> int:
        return self.across * self.heads * self.batch

    def blocks(self, workgroup: int) -> list[int]:
        """Numbers of the blocks of keys and values that a workgroup reads, in order."""
        tile, head, batch = (
            workgroup % self.across,
            workgroup // self.across % self.heads,
            workgroup // self.across // self.heads,
        )
        steps = -(-self.length // KEYS)
        first = (batch * self.k_heads + head * self.k_heads // self.heads) * steps
        if not self.causal:
            return list(range(first, first + steps))
        taken = dict.fromkeys((tile, self.tiles - 1 - tile))
        return [first + step for each in taken for step in range(min(steps, (each + 1) * TILE // KEYS))]


def fetches_per_miss(shape: Shape, seed: int = 0) -> float:
    """Bytes the workgroups of one XCD fetch per byte their L2 misses, over their first two rounds; Q is not shared."""
    dice = random.Random(seed)
    free = [0.0] * chip.CUS_PER_XCD
    moments: list[tuple[float, int]] = []
    workgroups = range(0, shape.grid, chip.XCDS)[: ROUNDS * chip.CUS_PER_XCD]
    for workgroup in workgroups:
        blocks = shape.blocks(workgroup)
        start = heapq.heappop(free) + SKEW * len(blocks) * dice.random()
        moments += [(start + at, block) for at, block in enumerate(blocks)]
        heapq.heappush(free, start + len(blocks))
    cache = Lru(chip.count("l2_bytes") // BLOCK, chip.count("l2_bytes") // BLOCK)
    missed = sum(cache.misses([block for _, block in sorted(moments)]))
    queries = 2 * HEAD * TILE * len(workgroups) * (2 if shape.causal else 1)
    return (len(moments) * BLOCK + queries) / (missed * BLOCK + queries)


def measured(facts: Path) -> Iterator[tuple[Measured, Shape]]:
    for row in read(facts / "calibration.csv"):
        if row["kernel"] != "fmha fwd" or row["library_or_object"] != "AITER asm v3":
            continue
        causal = "causal" in row["shape"]
        batch, heads, k_heads, length = (
            number(p, row["shape"]) for p in (r"B(\d+)", r"Hq(\d+)", r"Hkv(\d+)", r"Sq(\d+)")
        )
        shape = Shape(batch, heads, k_heads, length, causal)
        flops = 4.0 * shape.batch * shape.heads * shape.length**2 * HEAD * (0.5 if causal else 1.0)
        yield (
            Measured(
                role=row["role"],
                family="attention, AITER assembly",
                program=f"fmha_v3_fwd {'causal' if causal else 'full'}",
                shape=row["shape"],
                flops=flops,
                bytes=4.0 * shape.batch * shape.length * HEAD * (shape.heads + shape.k_heads),
                element="bf16",
                microseconds=flops / float(row["value"]) * 1e-6,
                source=row["source"],
            ),
            shape,
        )


def simulated(root: Path, facts: Path) -> Iterator[tuple[Measured, Timer]]:
    rows = list(measured(facts))
    for length, causal in sorted({(shape.length, shape.causal) for _, shape in rows}):
        case = fmha.case("causal" if causal else "plain", length, length, HEADS, k_heads=1, lse=False)
        kernel = machine.load(root / case.path).kernel()
        seen = observe(kernel, case.grid, case.block, case.args, offsets=case.offsets, workgroups=[0], executor="jit")
        recorded = Recorded(seen.record, seen.insts, seen.kernel)
        for row, shape in rows:
            if (shape.length, shape.causal) == (length, causal):
                yield row, partial(_launch, recorded, row, shape)


def _launch(recorded: Recorded, row: Measured, shape: Shape, parameters: Parameters) -> Launch:
    ops, waves = recorded.waves(parameters)
    sharers = fetches_per_miss(shape)

    def at(clock: float) -> Launch:
        timing: Timing = time_waves(
            ops, waves, recorded.resources, clock_mhz=clock, warm=True, l2_sharers=sharers, parameters=parameters
        )
        return estimate(
            timing,
            shape.grid,
            flops=row.flops,
            hbm_bytes=row.bytes,
            element=row.element,
            warm=True,
            parameters=parameters,
        )

    fast, slow = map(at, CLOCKS)
    return with_timing(fast, slow, parameters)
