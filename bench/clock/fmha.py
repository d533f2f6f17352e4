"""AITER's attention rows: `fmha_v3_fwd` at the shapes of AMD's own table, the object as shipped, the real grid.

Times come from `benchmark_mha_fwd` (warm-up, then the mean of repeated launches on the same tensors): launches are in a
stream and tensors warm. A causal row counts half of the products, as the table does. Unless told otherwise the program
fills q, k and v with uniform random numbers between 0 and 1 (`init` is `uf`), so the rows' data are positive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from argus import machine
from argus.bench.foreign.case import BF16, SLOT, packed
from argus.bench.foreign.fmha import HEAD, TILE_Q, object_path
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from bench.clock.rows import Folders, Measured, Task, given, number, read

THREADS = 512


@dataclass(frozen=True, slots=True)
class Shape:
    batch: int
    heads: int
    k_heads: int
    length: int
    causal: bool

    @property
    def flops(self) -> float:
        return 4.0 * self.batch * self.heads * self.length**2 * HEAD * (0.5 if self.causal else 1.0)

    @property
    def bytes(self) -> float:
        return 4.0 * self.batch * self.length * HEAD * (self.heads + self.k_heads)


def works(root: Path, shape: Shape) -> list[Work]:
    """The launch, its arguments in the order of `argus.bench.foreign.fmha`."""
    batch, length, heads, k_heads = shape.batch, shape.length, shape.heads, shape.k_heads
    q = Operand((batch, length, heads, HEAD), BF16, 0)
    k, v = (Operand((batch, length, k_heads, HEAD), BF16, seed) for seed in (1, 2))
    o = Operand((batch, length, heads, HEAD), BF16, blank=True)
    rows = Operand((batch, heads, length), np.float32, blank=True)
    q_row, k_row, head = 2 * heads * HEAD, 2 * k_heads * HEAD, 2 * HEAD
    option = 3 if shape.causal and heads % 8 else 5
    args = packed(
        *(o, q, k, v, rows, HEAD**-0.5, length),
        *(q_row, TILE_Q * q_row, head, length * q_row, heads // k_heads, k_row, head, length * k_row),
        *(option, 0, length, HEAD, HEAD, heads),
        *(k_row, head, length * k_row, q_row, head, length * q_row),
        *(None, None, 4 * length, None, None, None, None, None, 0, 0, 0, 0, 0, 0),
    )
    kernel = machine.load(root / object_path(shape.causal, "rtne")).kernel()
    tiles = -(-length // TILE_Q)
    grid = (-(-tiles // 2) if shape.causal else tiles, heads, batch)
    offsets = [SLOT * at for at in range(len(args))]
    return [Work("fmha_v3_fwd", kernel, grid, (THREADS,), args, offsets=offsets, bytes=shape.bytes)]


def rows(folders: Folders) -> Iterator[Task]:
    root = given(folders.aiter)
    for row in read(given(folders.facts) / "calibration.csv"):
        if row["kernel"] != "fmha fwd" or row["library_or_object"] != "AITER asm v3":
            continue
        causal = "causal" in row["shape"]
        batch, heads, k_heads, length = (
            number(p, row["shape"]) for p in (r"B(\d+)", r"Hq(\d+)", r"Hkv(\d+)", r"Sq(\d+)")
        )
        shape = Shape(batch, heads, k_heads, length, causal)
        found = Measured(
            role="fit" if causal else "validate",
            regime="attention",
            family="attention, AITER assembly",
            program=f"fmha_v3_fwd {'causal' if causal else 'full'}",
            shape=row["shape"],
            flops=shape.flops,
            bytes=shape.bytes,
            element="bf16",
            microseconds=shape.flops / float(row["value"]) * 1e-6,
            source=row["source"],
            protocol="stream",
            exact=True,
            warm=True,
            timing="benchmark_mha_fwd, mean of launches on the same tensors",
            data="positive",
        )
        yield Task(found, partial(works, root, shape))
