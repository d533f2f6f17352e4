"""Triton GEMM rows: the published kernels' loop (grouped tiles, optional XCD remapping) with their configurations.

The published sources differ from `matmul` in names and in how they advance pointers; the ISA comes from the Triton
installed here, not from the one that was measured. One workgroup per place on a CU is recorded, on tiles that share
nothing, and how many workgroups of an XCD share a line follows from the placement of the tiles.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from argus import machine
from argus.clock import Launch, kernel_resources, time_launch
from argus.clock.model import room_for
from argus.clock.observe import observe
from argus.gfx942.chip import CUS_PER_XCD, XCDS
from argus.machine.record import ExecutionRecord
from bench.clock.rows import Measured, line, number, read
from bench.foreign.case import BF16

TARGET = GPUTarget("hip", "gfx942", 64)
DIVISIBLE = [["tt.divisibility", 16]]


@triton.jit  # type: ignore[untyped-decorator]
def matmul(  # type: ignore[no-untyped-def]
    a,
    b,
    c,
    m,
    n,
    k,
    stride_am,
    stride_bk,
    stride_bn,
    stride_cm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
    XCDS: tl.constexpr,
    NT: tl.constexpr,
) -> None:
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
    if XCDS > 1:
        per_xcd = rows * columns // XCDS
        pid = (pid % XCDS) * per_xcd + pid // XCDS if per_xcd > 0 else pid
    in_group = GROUP * columns
    first = pid // in_group * GROUP
    height = min(rows - first, GROUP)
    pid_m = first + pid % in_group % height
    pid_n = pid % in_group // height
    at_m = (pid_m * BM + tl.arange(0, BM)) % m
    at_n = (pid_n * BN + tl.arange(0, BN)) % n
    at_k = tl.arange(0, BK)
    a_at = a + at_m[:, None] * stride_am + at_k[None, :]
    if NT:
        b_at = b + at_n[None, :] * stride_bn + at_k[:, None]
    else:
        b_at = b + at_k[:, None] * stride_bk + at_n[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, k, BK):
        total = tl.dot(tl.load(a_at), tl.load(b_at), total)
        a_at += BK
        b_at += BK if NT else BK * stride_bk
    out_m, out_n = pid_m * BM + tl.arange(0, BM), pid_n * BN + tl.arange(0, BN)
    inside = (out_m[:, None] < m) & (out_n[None, :] < n)
    tl.store(c + out_m[:, None] * stride_cm + out_n[None, :], total.to(tl.bfloat16), mask=inside)


@dataclass(frozen=True, slots=True)
class Config:
    """A published configuration; `key` is how its rows are found, `only` the sizes it was used for."""

    key: str
    tile: tuple[int, int, int]
    group: int
    warps: int
    waves_per_eu: int
    xcds: int
    nt: bool
    nonkdim: int
    only: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.key} {'x'.join(map(str, self.tile))} G{self.group}"


OFFICIAL = "triton official _matmul_kernel"
AITER = "aiter triton _gemm_a16_w16_kernel"
FALCON = "KernelFalcon _matmul_kernel"
CONFIGS = (
    Config(FALCON, (64, 128, 32), 4, 8, 1, 1, True, 16, (2048,)),
    Config(FALCON, (128, 64, 32), 4, 8, 1, 1, True, 16, (4096, 16384)),
    Config(OFFICIAL, (128, 128, 32), 8, 8, 1, 1, False, 0, (1024, 2048, 4096, 16384)),
    Config(AITER, (256, 256, 64), 1, 8, 2, 8, True, 16, (1024, 2048)),
    Config(AITER, (256, 256, 64), 4, 8, 2, 8, True, 16, (8192, 16384)),
)


def compiled(config: Config) -> tuple[bytes, int]:
    """The code object and its bytes of LDS."""
    bm, bn, bk = config.tile
    fixed = {"BM": bm, "BN": bn, "BK": bk, "GROUP": config.group, "XCDS": config.xcds, "NT": config.nt}
    pointers, numbers = ("a", "b", "c"), ("m", "n", "k", "stride_am", "stride_bk", "stride_bn", "stride_cm")
    signature = {
        **dict.fromkeys(pointers, "*bf16"),
        **dict.fromkeys(numbers, "i32"),
        **dict.fromkeys(fixed, "constexpr"),
    }
    attributes = {(at,): DIVISIBLE for at in range(len(pointers) + len(numbers))}
    source = ASTSource(fn=matmul, signature=signature, constexprs=fixed, attrs=attributes)
    options = {
        "num_warps": config.warps,
        "num_stages": 2,
        "waves_per_eu": config.waves_per_eu,
        "matrix_instr_nonkdim": config.nonkdim,
    }
    found = triton.compile(source, target=TARGET, options=options)
    return found.asm["hsaco"], found.metadata.shared


def tile_of(config: Config, pid: int, rows: int, columns: int) -> tuple[int, int]:
    if config.xcds > 1 and rows * columns >= config.xcds:
        pid = pid % config.xcds * (rows * columns // config.xcds) + pid // config.xcds
    first = pid // (config.group * columns) * config.group
    height = min(rows - first, config.group)
    within = pid % (config.group * columns)
    return first + within % height, within // height


def sharers(config: Config, size: int, room: int) -> float:
    """Mean number of workgroups on XCD 0 that read a line of A or B, in the first round."""
    bm, bn, _ = config.tile
    rows, columns = size // bm, size // bn
    tiles = [tile_of(config, n, rows, columns) for n in range(0, rows * columns, XCDS)[: CUS_PER_XCD * room]]
    return len(tiles) * (bm + bn) / (len({m for m, _ in tiles}) * bm + len({n for _, n in tiles}) * bn)


def rows_of(facts: Path) -> Iterator[tuple[Config, int, Measured]]:
    """One row for all published times of a kernel at a size: their median."""
    times: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    sources: dict[tuple[str, str, int], str] = {}
    for row in read(facts / "calibration.csv"):
        for key in (OFFICIAL, AITER, FALCON):
            if key in row["kernel"]:
                at = (row["role"], key, number(r"M=N=K=(\d+)", row["shape"]))
                times[at].append(float(row["value"]))
                sources[at] = row["source"]
    for (role, key, size), found in times.items():
        config = next(c for c in CONFIGS if c.key == key and size in c.only)
        yield (
            config,
            size,
            Measured(
                role=role,
                family="GEMM bf16, Triton",
                program=f"{config.name} (median of {len(found)})",
                shape=f"bf16 M=N=K={size}",
                flops=2.0 * size**3,
                bytes=6.0 * size**2,
                element="bf16",
                microseconds=statistics.median(found),
                source=sources[role, key, size],
            ),
        )


def simulated(root: Path, facts: Path) -> Iterator[dict[str, Any]]:
    objects = {config: compiled(config) for config in CONFIGS}
    for config, size, row in rows_of(facts):
        yield line(row, launch_of(config, size, *objects[config]))


def launch_of(config: Config, size: int, code: bytes, lds: int, placed: Config | None = None) -> Launch:
    """The launch of one square GEMM; `placed` places its tiles as another configuration does."""
    bm, bn, _ = config.tile
    kernel = machine.load(code).kernel("matmul")
    room = room_for(replace(kernel_resources(kernel.info), lds_bytes=lds), config.warps)
    m, n = room * bm, room * bn
    a, b, c = np.zeros((m, size), BF16), np.zeros(size * n, BF16), np.zeros((m, n), BF16)
    scalars = (np.int32(x) for x in (m, n, size, size, n, size, n))
    number_of = {tile_of(config, pid, room, room): pid for pid in range(room * room)}
    chosen = [number_of[i, i] for i in range(room)]
    seen = observe(
        kernel,
        room * room,
        64 * config.warps,
        (a, b, c, *scalars, None, None),
        lds=lds - kernel.info.group_segment_fixed_size,
        workgroups=chosen,
    )
    return time_launch(
        renumbered(seen.record, chosen),
        seen.insts,
        seen.kernel,
        dynamic_lds=seen.lds,
        grid=(size // bm) * (size // bn),
        flops=2.0 * size**3,
        hbm_bytes=6.0 * size**2,
        element="bf16",
        warm=True,
        l2_sharers=sharers(placed or config, size, room),
    )[1]


def renumbered(record: ExecutionRecord, chosen: list[int]) -> ExecutionRecord:
    """The record as if its workgroups met on one CU."""
    place = {number: at * XCDS * CUS_PER_XCD for at, number in enumerate(chosen)}
    waves = {(place[group], wave): taken for (group, wave), taken in record.waves.items()}
    return ExecutionRecord(record.grid, record.block, waves)
