"""AITER's GEMM rows: bf16 (LDS-staged assembly) and i8 (per-token scales).

The i8 times come from AITER's tuner, which rotates over up to 101 copies of the tensors (aiter/test_common.py) and
takes the profiler's time of the kernel: caches are cold, and no launch floor is in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from argus import machine
from argus.bench.aiter_matmul import FOLDER, NAME, SLOT, THREADS, arguments, grid
from argus.bench.foreign.case import BF16, packed
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from bench.clock.rows import Folders, Measured, Task, given, number, read, without_gap

I8_OBJECT = "i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_{}.co"
I8_FIT = ("112x256", "48x128")


def bf16_works(root: Path, tile: int, size: int) -> list[Work]:
    """One square product, D in f32."""
    a, b = Operand((size, size), BF16, 0), Operand((size, size), BF16, 1)
    args = arguments(Operand((size, size), np.float32, blank=True), a, b, size, size, size)
    kernel = machine.load(root / FOLDER / NAME.format(f"{tile}x64_pf3_splitk")).kernel()
    offsets = [SLOT * at for at in range(len(args))]
    return [Work("bf16gemm", kernel, grid(tile, size, size), (THREADS,), args, offsets=offsets)]


def bf16(folders: Folders) -> Iterator[Task]:
    root = given(folders.aiter)
    for row in read(given(folders.facts) / "calibration.csv"):
        if "gemm_a16w16_asm" not in row["kernel"] or row["metric"] != "time":
            continue
        size = number(r"M=N=K=(\d+)", row["shape"])
        tile = 64 if size == 1024 else 96
        found = Measured(
            role="fit" if tile == 96 else "validate",
            regime="dense GEMM",
            family="GEMM bf16, AITER assembly",
            program=f"bf16gemm {tile}x64_pf3",
            shape=f"bf16 {row['shape']}",
            flops=2.0 * size**3,
            bytes=8.0 * size**2,
            element="bf16",
            microseconds=without_gap(row),
            source=row["source"],
            protocol="graph",
            exact=True,
            warm=True,
            timing=row["notes"],
        )
        yield Task(found, partial(bf16_works, root, tile, size))


def i8_works(root: Path, tile: str, m: int, n: int, k: int) -> list[Work]:
    """D = A Bᵀ scaled by row and column; B is already in the kernel's order."""
    tile_m, tile_n = (int(part) for part in tile.split("x"))
    a, b = Operand((m, k), np.int8, 0), Operand((n, k), np.int8, 1)
    scales = (Operand((size,), np.float32, 2) for size in (m, n, n))
    args = packed(Operand((m, n), BF16, blank=True), a, b, *scales, m, n, k, k, k, 2 * n, 1)
    kernel = machine.load(root / I8_OBJECT.format(tile)).kernel()
    offsets = [SLOT * at for at in range(len(args))]
    return [Work("I8gemm", kernel, (n // tile_n, -(-m // tile_m), 1), (THREADS,), args, offsets=offsets)]


def i8(folders: Folders) -> Iterator[Task]:
    root = given(folders.aiter)
    for row in read(given(folders.facts) / "aiter_asm_gemm_times.csv"):
        m, n, k = (int(row[name]) for name in ("M", "N", "K"))
        tile = row["kernelName"].rsplit("_", 1)[1].removesuffix("E")
        found = Measured(
            role="fit" if tile in I8_FIT else "validate",
            regime="fp8/MoE",
            family="GEMM i8, AITER assembly",
            program=f"I8gemm {tile}",
            shape=f"i8 {m}x{n}x{k}",
            flops=2.0 * m * n * k,
            bytes=1.0 * (m * k + n * k + 2 * m * n),
            element="i8",
            microseconds=float(row["us"]),
            source=row["file"],
            protocol="cold",
            exact=True,
            warm=False,
            timing="AITER's tuner: device time from the profiler, tensors rotated",
        )
        yield Task(found, partial(i8_works, root, tile, m, n, k))
