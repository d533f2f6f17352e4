"""Primus-Turbo's rows: its Triton GEMM of 256 x 256 x 64 tiles, and attention through AITER, at shapes of models.

The GEMM (`_bf16_persistent_gemm_kernel`, 8 waves, 2 stages, 16 x 16 instructions, one tile per program) is our Triton
source with the same configuration, grouped by four; how the measured one grouped its tiles depends on what was
installed. Attention with heads of 128 runs AITER's assembly object; that it did is inferred from its speed. Both are
means of 100 calls back to back on the same tensors. Every `STEP`th shape is simulated: neighbors differ little. The
times of single calls below `FLOOR_US` lie on the floor of a PyTorch operator and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from argus.bench import triton_matmul
from argus.bench.foreign.fmha import HEAD
from argus.bench.triton_matmul import MatmulConfig
from argus.clock.sampled import Work
from bench.clock import fmha
from bench.clock.rows import Folders, LeftOut, Measured, Task, given, number, read

CONFIG = MatmulConfig(256, 256, 64, 8, 2, 16)
STEP = 3
FLOOR_US = 120.0
TIMING = "mean of 100 calls back to back on the same tensors, through PyTorch"
NOTE = ("the clock has no operator of PyTorch around the launch",)


def works(m: int, n: int, k: int) -> list[Work]:
    return [triton_matmul.work(CONFIG, m, n, k)]


def gemm(folders: Folders) -> Iterator[Task | LeftOut]:
    found = [
        row
        for row in read(given(folders.facts) / "measured_more.csv")
        if "_bf16_persistent_gemm_kernel" in row["library_or_object"] and row["metric"] == "TFLOPS"
    ]
    sizes = [tuple(number(p, row["shape"]) for p in (r"M(\d+)", r"N(\d+)", r"K(\d+)")) for row in found]
    fits = [not (m % CONFIG.bm or n % CONFIG.bn or k % CONFIG.bk) for m, n, k in sizes]
    able = [(row, size) for row, size, fit in zip(found, sizes, fits, strict=True) if fit]
    for row, (m, n, k) in able[::STEP]:
        flops = 2.0 * m * n * k
        yield Task(
            Measured(
                role="fit",
                regime="dense GEMM",
                family="GEMM bf16, Triton at Primus",
                program=f"_bf16_persistent_gemm_kernel {CONFIG.bm}x{CONFIG.bn}x{CONFIG.bk}",
                shape=f"bf16 {m}x{n}x{k}",
                flops=flops,
                bytes=2.0 * (m * k + n * k + m * n),
                element="bf16",
                microseconds=flops / float(row["value"]) * 1e-6,
                source=row["source"],
                protocol="stream",
                exact=False,
                warm=True,
                timing=TIMING,
                notes=NOTE,
            ),
            partial(works, m, n, k),
        )
    yield LeftOut("GEMM bf16, Triton at Primus", len(able) - len(able[::STEP]), "the same program at sizes between")
    yield LeftOut("GEMM bf16, Triton at Primus", len(found) - len(able), "the tiles do not divide the size")


def attention(folders: Folders) -> Iterator[Task | LeftOut]:
    other = short = 0
    able = []
    for row in read(given(folders.facts) / "measured_more.csv"):
        if row["kernel"] != "flash attention fwd" or "Primus" not in row["source"]:
            continue
        if "Dqk128 Dv128" not in row["shape"]:
            other += 1
            continue
        batch, length, heads, k_heads = (
            number(p, row["shape"]) for p in (r"B(\d+)", r"S(\d+)", r"Hq(\d+)", r"Hkv(\d+)")
        )
        shape = fmha.Shape(batch, heads, k_heads, length, "causal=True" in row["shape"])
        microseconds = shape.flops / float(row["value"]) * 1e-6
        if microseconds < FLOOR_US:
            short += 1
            continue
        able.append((row, shape, microseconds))
    for row, shape, microseconds in able[::STEP]:
        yield Task(
            Measured(
                role="validate",
                regime="attention",
                family="attention, AITER at Primus",
                program=f"fmha_v3_fwd {'causal' if shape.causal else 'full'} d{HEAD}",
                shape=row["shape"],
                flops=shape.flops,
                bytes=shape.bytes,
                element="bf16",
                microseconds=microseconds,
                source=row["source"],
                protocol="stream",
                exact=False,
                warm=True,
                timing=TIMING,
                notes=(*NOTE, "the object is inferred"),
            ),
            partial(fmha.works, given(folders.aiter), shape),
        )
    family = "attention, AITER at Primus"
    yield LeftOut(family, len(able) - len(able[::STEP]), "the same program at sizes between")
    yield LeftOut(family, other, "heads of other sizes, programs of Composable Kernel")
    yield LeftOut(family, short, "on the floor of a PyTorch operator")


def rows(folders: Folders) -> Iterator[Task | LeftOut]:
    yield from gemm(folders)
    yield from attention(folders)
