"""The rows of `argus bench fp8`: products in fp8 with block scales at shapes of DeepSeek V3, ours and AITER's objects.

    row = fp8_row((4096, 7168, 2048), Path("aiter/hsa/gfx942"), Kept())
    row.ours.us, row.best.us

Ours is proved before it is timed. AITER takes B shuffled beforehand, ours arranged; neither is counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from argus.bench import aiter_objects
from argus.bench.aiter_objects import AiterError
from argus.bench.contestant import Contestant, executed
from argus.bench.foreign.case import SLOT, packed
from argus.bench.kept import Kept, Timed
from argus.bench.moe import work
from argus.bench.others import Best, fastest
from argus.bench.verdict import HEADER, cell, verdict
from argus.clock.paired import Paired
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from argus.ops.fp8 import choose_fp8
from argus.ops.launch import prepared

PATH = "fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_{}x128.co"
FP8, BF16 = ml_dtypes.float8_e4m3fnuz, ml_dtypes.bfloat16
Shape = tuple[int, int, int]
SHAPES: tuple[Shape, ...] = (
    (64, 7168, 2048), (128, 7168, 2048), (1024, 4608, 7168), (4096, 7168, 2048), (8192, 4096, 7168),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fp8Row:
    """One shape; times in us at the sustained clock."""

    shape: Shape
    ours: Timed
    detail: str
    best: Best | None
    verdict: Paired | None

    def ratio(self) -> float | None:
        return None if self.best is None else self.best.us / self.ours.us

    def to_json(self) -> dict[str, Any]:
        return {
            "shape": list(self.shape), **self.ours.to_json(), "ours": self.detail,
            "aiter": None if self.best is None else self.best.to_json(),
            "verdict": None if self.verdict is None else self.verdict.to_json(),
        }  # fmt: skip


def fp8_row(shape: Shape, root: Path | None, clocks: int = 0, kept: Kept | None = None) -> Fp8Row:
    """Ours, and the fastest of AITER's tiles for so many rows."""
    store = Kept(None) if kept is None else kept
    m, n, k = shape
    choice = choose_fp8(m, n, k)
    code = hashlib.sha256(prepared(choice).code).hexdigest()
    mine = store.time(f"fp8 {m} {n} {k} {code}", partial(ours, m, n, k), OSError)
    best = against = None
    if root is not None:
        tiles = (128, 64) if m > 96 else (32, 64)
        take = {str(tile): partial(theirs, root, m, n, k, tile) for tile in tiles}
        words = {t: f"aiter fp8 {m} {n} {k} {t} {aiter_objects.named(root, PATH.format(t))}" for t in take}
        times = {t: store.time(words[t], make, AiterError) for t, make in take.items()}
        best = fastest("AITER", times).get("AITER")
        if best is not None:
            rival = take[best.detail]
            against = verdict(mine, best, lambda: (ours(m, n, k), rival()), clocks, store.protocol)
    return Fp8Row(shape, mine, " ".join(f"{name}={value}" for name, value in choice.knobs.items()), best, against)


def ours(m: int, n: int, k: int) -> Contestant:
    choice = choose_fp8(m, n, k)
    sizes = {"M": m, "N": n, "K": k, "Kb": k // 128, "Nb": n // 128, "Nt": n // 32, "Kc": k // 16}
    return Contestant("ours", choice.text(), (executed(work(prepared(choice), sizes, {})),))


def theirs(root: Path, m: int, n: int, k: int, tile: int) -> Contestant:
    """AITER's fp8 block-scale GEMM (csrc/py_itfs_cu/asm_a8w8_blockscale_bpreshuffle.cu): C, A, B, scales of A and B,
    bias, M, N, K, row lengths of A and B, of C in bytes, splits, numbers of scales along m, n, k; 16 bytes each."""
    args = packed(
        Operand((m, n), BF16, blank=True), Operand((m, k), FP8, 1), Operand((n, k), FP8, 2),
        Operand((k // 128, m), np.float32, 3), Operand((n // 128, k // 128), np.float32, 4), np.zeros(n, np.float32),
        m, n, k, k, k, 2 * n, 1, m, n // 128, k // 128,
    )  # fmt: skip
    loaded = aiter_objects.kernel(root, PATH.format(tile))
    offsets = [SLOT * n for n in range(len(args))]
    launch = Work(f"aiter {tile}", loaded, (n // 128, -(-m // tile), 1), (256,), args, offsets=offsets)
    return Contestant(f"AITER {tile}x128", f"{tile}x128", (executed(launch),))


def table(rows: Sequence[Fp8Row]) -> str:
    """A Markdown table."""
    lines = [
        "| M x N x K | ours us (simulated) | TFLOPS | MHz | kernel | AITER us (simulated) | tile | AITER / ours | "
        f"{HEADER} |",
        "|" + "---|" * 9,
    ]
    for row in rows:
        m, n, k = row.shape
        speed = f"{2e-6 * m * n * k / row.ours.us:.0f}"
        cells = [f"{m} x {n} x {k}", row.ours.text(), speed, f"{row.ours.mhz:.0f}", row.detail]
        if row.best is None:
            cells += ["-"] * 3
        else:
            cells += [row.best.text(), f"{row.best.detail}x128", f"{row.best.us / row.ours.us:.2f}"]
        cells.append(cell(row.verdict))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
