"""Triton's matrix product C = A @ B.T for few rows (weights of a language model): ragged M, K divided among workgroups.

    contestant(Few(16, 64, 256, warps=4, stages=2, split=4), 16, 8192, 8192)

Tiles of 16 to 128 rows, columns and k by the weights; rows past the end are read again and not stored. With `split` > 1
each workgroup sums a part of K into f32, and a second launch adds the parts. At a shape the 44 configurations take part
whose rows fit it (`fitting`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from argus import machine
from argus.bench import triton_compile
from argus.bench.contestant import Contestant, Part, executed
from argus.bench.triton_compile import Job, TritonError
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from argus.device.guards import numpy_dtype
from argus.gfx942.lds import SIZE_BYTES as LDS_BYTES
from argus.ir.types import DTYPES

NUMBERS = ("m", "n", "k")
SUM = 1024
"""Elements a workgroup of the second launch adds up."""


@dataclass(frozen=True, slots=True)
class Few:
    """One configuration."""

    bm: int
    bn: int
    bk: int
    warps: int
    stages: int
    split: int
    nonkdim: int = 16

    def text(self) -> str:
        parts = f", K in {self.split} parts" if self.split > 1 else ""
        return f"{self.bm}x{self.bn}x{self.bk} {self.warps} waves, {self.stages} stages, mfma {self.nonkdim}{parts}"


_COLUMNS = ((32, 256, 2), (64, 128, 4), (64, 256, 4), (128, 64, 4), (128, 128, 8))
_ROWS = (16, 32, 64, 128)
MOST = _ROWS[-1]
"""More rows are no longer few."""


def fitting(m: int) -> Sequence[Few]:
    """Configurations with the smallest tile that holds all rows."""
    bm = next(rows for rows in _ROWS if rows >= m)
    deep = [Few(bm, 64, 128, 4, 3, split) for split in (1, 2, 4, 8)]
    return [*(Few(bm, *c, s, split) for c, s, split in itertools.product(_COLUMNS, (1, 2), (1, 2, 4, 8))), *deep]


def compiled(config: Few) -> tuple[bytes, int]:
    """The code object of the product and its LDS."""
    job = Job(
        SOURCE,
        "product",
        {"a": "*bf16", "b": "*bf16", "c": "*fp32" if config.split > 1 else "*bf16", **dict.fromkeys(NUMBERS, "i32")},
        {"BM": config.bm, "BN": config.bn, "BK": config.bk, "SPLIT": config.split},
        (0, 1, 2, 4, 5),
        {"num_warps": config.warps, "num_stages": config.stages, "matrix_instr_nonkdim": config.nonkdim},
    )
    return triton_compile.compiled(job, config.text())


def contestant(config: Few, m: int, n: int, k: int) -> Contestant:
    """The configuration at these sizes; its tiles must divide N and each part of K."""
    if n % config.bn or k % (config.bk * config.split):
        raise TritonError(f"{config.text()}: the tiles do not divide N = {n} and K = {k}")
    code, lds = compiled(config)
    if lds > LDS_BYTES:
        raise TritonError(f"{config.text()}: {lds} bytes of LDS")
    kernel = machine.load(code).kernel("product")
    kind = numpy_dtype(DTYPES["bf16"])
    parts = Operand((config.split, m, n), np.dtype(np.float32), blank=True)
    out = parts if config.split > 1 else Operand((m, n), kind, blank=True)
    grid = (-(-m // config.bm) * (n // config.bn), config.split)
    sizes = (np.int32(size) for size in (m, n, k))
    args = (Operand((m, k), kind, 0), Operand((n, k), kind, 1), out, *sizes, None, None)
    more = lds - kernel.info.group_segment_fixed_size
    work = Work("triton", kernel, grid, (64 * config.warps,), args, lds=more)
    launches = [executed(work), *([_added(config.split, m, n)] if config.split > 1 else [])]
    return Contestant("triton", config.text(), tuple(launches))


def _added(split: int, m: int, n: int) -> Part:
    """The second launch: the parts of K added up."""
    if m * n % SUM:
        raise TritonError(f"M N = {m * n} is no multiple of {SUM}")
    job = Job(
        SOURCE, "added", {"parts": "*fp32", "c": "*bf16", "size": "i32"}, {"SPLIT": split, "BLOCK": SUM}, (0, 1, 2),
        {"num_warps": 4},
    )  # fmt: skip
    code, _ = triton_compile.compiled(job, f"sum of {split} parts")
    parts = Operand((split, m, n), np.dtype(np.float32), 2)
    out = Operand((m, n), numpy_dtype(DTYPES["bf16"]), blank=True)
    args = (parts, out, np.int32(m * n), None, None)
    return executed(Work("triton sum", machine.load(code).kernel("added"), (m * n // SUM,), (256,), args))


SOURCE = """
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    pid, part = tl.program_id(0), tl.program_id(1)
    columns = tl.cdiv(n, BN)
    at_m = pid // columns * BM + tl.arange(0, BM)
    at_n = pid % columns * BN + tl.arange(0, BN)
    length = k // SPLIT
    at_k = part * length + tl.arange(0, BK)
    a_at = a + (at_m % m)[:, None] * k + at_k[None, :]
    b_at = b + at_n[None, :] * k + at_k[:, None]
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(tl.cdiv(length, BK)):
        total = tl.dot(tl.load(a_at), tl.load(b_at), total)
        a_at += BK
        b_at += BK
    place = c + part * m * n + at_m[:, None] * n + at_n[None, :]
    tl.store(place, total.to(c.dtype.element_ty), mask=(at_m < m)[:, None])


@triton.jit
def added(parts, c, size, SPLIT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for part in tl.static_range(SPLIT):
        total += tl.load(parts + part * size + at)
    tl.store(c + at, total.to(tl.bfloat16))
"""
