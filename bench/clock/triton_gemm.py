"""Triton GEMM rows: the published kernels (grouped tiles, their masks, optional XCD remapping) and configurations.

The sources are written here after the published ones; what makes a difference to the code is kept: which loads are
masked by what, which operand is transposed, how tiles are numbered. They are compiled with the Triton installed here,
told to load like the measured one, 3.5 (global loads, masked ones behind branches; no buffer loads, no transposition in
registers), whose published ISA shows the same loops: equivalent programs, not the very objects.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from argus import machine
from argus.bench import triton_compile
from argus.bench.foreign.case import BF16
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from bench.clock.rows import Folders, Measured, Task, given, number, read, warmed_up, without_gap

OLDER = {
    "AMDGCN_USE_BUFFER_OPS": "0",
    "TRITON_HIP_USE_IN_THREAD_TRANSPOSE": "0",
    "TRITON_HIP_USE_ASYNC_COPY": "0",
    "TRITON_HIP_USE_BLOCK_PINGPONG": "1",
}
"""Makes this Triton load as the measured one did."""


@dataclass(frozen=True, slots=True)
class Config:
    """A published configuration; `key` is how its rows are found, `only` the sizes it was used for.

    in_group  the row of a tile counts within its group of tiles (else over the whole grid, as one source has it)
    wrap      rows and columns beyond the matrix wrap around instead of being masked
    mask_k    loads are masked by what is left of k
    """

    key: str
    tile: tuple[int, int, int]
    group: int
    warps: int
    waves_per_eu: int
    xcds: int
    nt: bool
    nonkdim: int
    only: tuple[int, ...]
    in_group: bool = True
    wrap: bool = False
    mask_k: bool = False

    @property
    def name(self) -> str:
        return f"{self.key} {'x'.join(map(str, self.tile))} G{self.group}"


OFFICIAL = "triton official _matmul_kernel"
AITER = "aiter triton _gemm_a16_w16_kernel"
FALCON = "KernelFalcon _matmul_kernel"
CONFIGS = (
    Config(FALCON, (64, 128, 32), 4, 8, 1, 1, True, 16, (2048,)),
    Config(FALCON, (128, 64, 32), 4, 8, 1, 1, True, 16, (4096, 16384)),
    Config(OFFICIAL, (128, 128, 32), 8, 8, 0, 1, False, 0, (1024, 2048, 4096, 16384), in_group=False, mask_k=True),
    Config(AITER, (256, 256, 64), 1, 8, 2, 8, True, 16, (1024, 2048), wrap=True),
    Config(AITER, (256, 256, 64), 4, 8, 2, 8, True, 16, (8192, 16384), wrap=True),
)


def compiled(config: Config) -> tuple[bytes, int]:
    """The code object and its bytes of LDS."""
    bm, bn, bk = config.tile
    fixed = {
        "BM": bm,
        "BN": bn,
        "BK": bk,
        "GROUP": config.group,
        "XCDS": config.xcds,
        "NT": config.nt,
        "IN_GROUP": config.in_group,
        "WRAP": config.wrap,
        "MASK_K": config.mask_k,
    }
    pointers, numbers = ("a", "b", "c"), ("m", "n", "k", "stride_am", "stride_bk", "stride_bn", "stride_cm")
    job = triton_compile.Job(
        SOURCE,
        "matmul",
        {**dict.fromkeys(pointers, "*bf16"), **dict.fromkeys(numbers, "i32")},
        fixed,
        tuple(range(len(pointers) + len(numbers))),
        {
            "num_warps": config.warps,
            "num_stages": 2,
            "waves_per_eu": config.waves_per_eu,
            "matrix_instr_nonkdim": config.nonkdim,
        },
    )
    return triton_compile.compiled(job, config.name, OLDER)


def rows_of(facts: Path) -> Iterator[tuple[Config, int, Measured]]:
    """One row for all published times of a kernel at a size: their median, of warmed-up runs if there are any."""
    times: dict[tuple[str, int], dict[bool, list[float]]] = defaultdict(lambda: defaultdict(list))
    sources: dict[tuple[str, int], str] = {}
    for row in read(facts / "calibration.csv"):
        for key in (OFFICIAL, AITER, FALCON):
            if key in row["kernel"]:
                at = (key, number(r"M=N=K=(\d+)", row["shape"]))
                times[at][warmed_up(row)].append(without_gap(row))
                sources[at] = row["source"]
    for (key, size), runs in times.items():
        found = runs[True] or runs[False]
        config = next(c for c in CONFIGS if c.key == key and size in c.only)
        yield (
            config,
            size,
            Measured(
                role="fit" if key == OFFICIAL else "validate",
                regime="dense GEMM",
                family="GEMM bf16, Triton",
                program=config.name,
                shape=f"bf16 M=N=K={size}",
                flops=2.0 * size**3,
                bytes=6.0 * size**2,
                element="bf16",
                microseconds=statistics.median(found),
                source=sources[key, size],
                protocol="graph",
                exact=False,
                warm=True,
                timing=f"median of {len(found)}, {'warmed up for 200 ms' if runs[True] else 'after five launches'}",
                runs=tuple(sorted(found)),
            ),
        )


def rows(folders: Folders) -> Iterator[Task]:
    for config, size, row in rows_of(given(folders.facts)):
        yield Task(row, partial(works, config, size))


def works(config: Config, size: int) -> list[Work]:
    return [work_of(config, size, *compiled(config))]


def work_of(config: Config, size: int, code: bytes, lds: int) -> Work:
    """One square GEMM of that size."""
    bm, bn, _ = config.tile
    kernel = machine.load(code).kernel("matmul")
    a, b = Operand((size, size), BF16, 0), Operand((size, size), BF16, 1)
    c = Operand((size, size), BF16, blank=True)
    scalars = (np.int32(size) for _ in range(7))
    return Work(
        config.name,
        kernel,
        (size // bm * (size // bn),),
        (64 * config.warps,),
        (a, b, c, *scalars, None, None),
        lds=lds - kernel.info.group_segment_fixed_size,
    )


SOURCE = """
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, m, n, k, stride_am, stride_bk, stride_bn, stride_cm, BM: tl.constexpr, BN: tl.constexpr,
           BK: tl.constexpr, GROUP: tl.constexpr, XCDS: tl.constexpr, NT: tl.constexpr, IN_GROUP: tl.constexpr,
           WRAP: tl.constexpr, MASK_K: tl.constexpr):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
    if XCDS > 1:
        per_xcd = rows * columns // XCDS
        pid = (pid % XCDS) * per_xcd + pid // XCDS if per_xcd > 0 else pid
    in_group = GROUP * columns
    first = pid // in_group * GROUP
    height = min(rows - first, GROUP)
    pid_m = first + (pid % in_group % height if IN_GROUP else pid % height)
    pid_n = pid % in_group // height
    at_m = pid_m * BM + tl.arange(0, BM)
    at_n = pid_n * BN + tl.arange(0, BN)
    if WRAP:
        at_m, at_n = at_m % m, at_n % n
    at_k = tl.arange(0, BK)
    a_at = a + at_m[:, None] * stride_am + at_k[None, :]
    if NT:
        b_at = b + at_n[None, :] * stride_bn + at_k[:, None]
    else:
        b_at = b + at_k[:, None] * stride_bk + at_n[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(tl.cdiv(k, BK)):
        inside_k = at_k < k - step * BK
        if WRAP and MASK_K:
            left = tl.load(a_at, mask=inside_k[None, :], other=0.0)
            right = tl.load(b_at, mask=inside_k[:, None], other=0.0)
        elif WRAP:
            left, right = tl.load(a_at), tl.load(b_at)
        elif MASK_K:
            left = tl.load(a_at, mask=(at_m[:, None] < m) & inside_k[None, :], other=0.0)
            right = tl.load(b_at, mask=inside_k[:, None] & (at_n[None, :] < n), other=0.0)
        else:
            left = tl.load(a_at, mask=at_m[:, None] < m, other=0.0)
            right = tl.load(b_at, mask=at_n[None, :] < n, other=0.0)
        total = tl.dot(left, right, total)
        a_at += BK
        b_at += BK if NT else BK * stride_bk
    out_m, out_n = pid_m * BM + tl.arange(0, BM), pid_n * BN + tl.arange(0, BN)
    inside = (out_m[:, None] < m) & (out_n[None, :] < n)
    tl.store(c + out_m[:, None] * stride_cm + out_n[None, :], total.to(tl.bfloat16), mask=inside)
"""
