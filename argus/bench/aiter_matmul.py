"""AITER's bf16 matrix products, D = A Bᵀ (+ bias), as code objects in a directory the caller names.

    found = objects(Path("aiter/hsa/gfx942"))           -> [Object("64x64_pf3_splitk", 64, shuffled=False), ...]
    contestant(root, found[0], 1024, 1024, 1024)        the object at these sizes, sampled

A and B are row-major [M, K] and [N, K] in bf16, D is f32 or bf16. Arguments take 16 bytes each
(csrc/py_itfs_cu/asm_gemm_a16w16.cu):

    D, C (null), A, B, alpha, beta, strides in bytes of D, C, A, B (two each, the second 0), M, N, K, splitk,
    is_out_b16, bias (bf16[N]), add_bias, semaphore (uint32 per tile)

Grid (N / 64, ceil(M / tile), splits), 256 threads. Objects named `splitk_clean` divide K over gridDim.z with atomics
and are not listed here. `bshuffle` objects expect B in their own order, made once beforehand: `shuffled` says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from argus.bench import aiter_objects
from argus.bench.aiter_objects import AiterError
from argus.bench.contestant import Contestant, executed
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from argus.device.guards import numpy_dtype
from argus.ir.types import DTYPES

TILE_N = 64
THREADS = 256
SLOT = 16
"""Bytes AITER gives to each kernel argument."""
FOLDER = "bf16gemm"
NAME = "bf16gemm_fp32bf16_tn_{}.co"
_PLAIN = re.compile(r"bf16gemm_fp32bf16_tn_((\d+)x64_(bshuffle_|pf3_)?splitk)\.co")


@dataclass(frozen=True, slots=True)
class Object:
    """One code object: the part of its name that says tile and pipeline, rows of its tile."""

    name: str
    tile_m: int
    shuffled: bool

    @property
    def path(self) -> str:
        return f"{FOLDER}/{NAME.format(self.name)}"

    def text(self) -> str:
        return self.name + (" (B shuffled beforehand)" if self.shuffled else "")


def objects(root: Path) -> list[Object]:
    """The objects under `root` that need no division of K."""
    names = (_PLAIN.fullmatch(path.name) for path in sorted((root / FOLDER).glob("*.co")))
    found = [Object(match[1], int(match[2]), match[3] == "bshuffle_") for match in names if match is not None]
    if not found:
        raise AiterError(f"there are no {FOLDER}/{NAME.format('…')} under {root}")
    return found


def grid(tile_m: int, m: int, n: int, splits: int = 1) -> tuple[int, int, int]:
    return -(-n // TILE_N), -(-m // tile_m), splits


def arguments(d: Any, a: Any, b: Any, m: int, n: int, k: int, **more: Any) -> tuple[Any, ...]:
    """The arguments in order; `more`: splits, bias and semaphore."""
    splits, bias, semaphore = more.get("splits", 1), more.get("bias"), more.get("semaphore")
    size = np.dtype(d.dtype).itemsize
    row_d, row = n * size, 2 * k
    numbers = (row_d, 0, row_d, 0, row, 0, row, 0, m, n, k, splits, int(size == 2))
    sized = tuple(np.uint32(number) for number in numbers)
    return (
        *(d, None, a, b, np.float32(1.0), np.float32(0.0)),
        *sized,
        *(bias, np.uint32(bias is not None), semaphore),
    )


def contestant(root: Path, chosen: Object, m: int, n: int, k: int) -> Contestant:
    """The object at these sizes, D in bf16."""
    if n % TILE_N or k % 64:
        raise AiterError(f"AITER {chosen.name}: N and K are multiples of 64, not {n} and {k}")
    kind = numpy_dtype(DTYPES["bf16"])
    a, b, d = Operand((m, k), kind, 0), Operand((n, k), kind, 1), Operand((m, n), kind, blank=True)
    args = arguments(d, a, b, m, n, k)
    kernel = aiter_objects.kernel(root, chosen.path)
    offsets = [SLOT * number for number in range(len(args))]
    work = Work("aiter", kernel, grid(chosen.tile_m, m, n), (THREADS,), args, offsets=offsets)
    return Contestant("aiter", chosen.text(), (executed(work),))
