"""Triton's matrix product C = A @ B.T in many configurations, compiled by the Triton installed here.

    compiled(MatmulConfig(256, 256, 64, warps=8, stages=2, nonkdim=16))    -> (code object, bytes of LDS)

Compiled and kept by `argus.bench.triton_compile`. `QUICK` holds a few configurations, `FULL` 56: tiles of
64 to 256, steps of 32 to 128, 4 and 8 waves, both matrix instructions, one to three stages, with and without the XCD
map, buffer loads and the ping-pong of 8 waves (Triton's own default is both).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from argus import machine
from argus.bench import triton_compile
from argus.bench.contestant import Contestant, executed
from argus.bench.triton_compile import Job, TritonError
from argus.clock.sampled import Work
from argus.clock.staged import Operand
from argus.device.guards import numpy_dtype
from argus.gfx942.lds import SIZE_BYTES as LDS_BYTES
from argus.ir.types import DTYPES

NUMBERS = ("m", "n", "k", "stride_am", "stride_bn", "stride_cm")


@dataclass(frozen=True, slots=True)
class MatmulConfig:
    """One configuration."""

    bm: int
    bn: int
    bk: int
    warps: int
    stages: int
    nonkdim: int
    group: int = 4
    xcds: int = 8
    buffer: bool = True
    pingpong: bool = True

    def text(self) -> str:
        return (
            f"{self.bm}x{self.bn}x{self.bk} {self.warps} waves, {self.stages} stages, mfma {self.nonkdim}, "
            f"group {self.group}, {'XCD map' if self.xcds > 1 else 'plain'}"
            + ("" if self.buffer else ", no buffer loads")
            + ("" if self.pingpong else ", no ping-pong")
        )


QUICK = (
    MatmulConfig(256, 256, 64, 8, 2, 16),
    MatmulConfig(128, 128, 64, 4, 2, 16),
    MatmulConfig(64, 64, 64, 4, 2, 16),
)
_TILES = ((256, 256, 64), (256, 128, 64), (128, 256, 64), (128, 128, 64), (64, 64, 64), (128, 64, 64))
_DEEP = ((256, 256, 32), (256, 128, 32), (128, 128, 64), (128, 64, 64), (64, 64, 64))
_STRONG = (
    MatmulConfig(256, 256, 64, 8, 2, 16),
    MatmulConfig(128, 128, 64, 8, 2, 16),
    MatmulConfig(64, 64, 64, 4, 2, 16),
)
FULL = (
    *(MatmulConfig(*tile, warps, 2, inst) for tile, warps, inst in itertools.product(_TILES, (4, 8), (16, 32))),
    *(MatmulConfig(*tile, warps, 3, 16) for tile, warps in itertools.product(_DEEP, (4, 8))),
    *(
        MatmulConfig(*tile, 4, 2, 16)
        for tile in ((64, 64, 128), (128, 64, 128), (64, 128, 64), (64, 256, 64), (128, 128, 32))
    ),
    *(MatmulConfig(*tile, 8, 2, 16) for tile in ((256, 256, 32), (256, 128, 32), (128, 128, 128))),
    *(MatmulConfig(*tile, warps, 1, 16) for tile, warps in (((128, 128, 64), 4), ((256, 256, 64), 8))),
    *(replace(config, xcds=1) for config in _STRONG),
    *(replace(config, buffer=False) for config in _STRONG),
    *(replace(config, pingpong=False) for config in _STRONG),
    *(replace(config, group=8) for config in _STRONG),
)


def compiled(config: MatmulConfig) -> tuple[bytes, int]:
    """The code object and its LDS."""
    job = Job(
        SOURCE,
        "matmul",
        {**dict.fromkeys("abc", "*bf16"), **dict.fromkeys(NUMBERS, "i32")},
        {"BM": config.bm, "BN": config.bn, "BK": config.bk, "GROUP": config.group, "XCDS": config.xcds},
        tuple(range(3 + len(NUMBERS))),
        {"num_warps": config.warps, "num_stages": config.stages, "matrix_instr_nonkdim": config.nonkdim},
    )
    told = {
        "AMDGCN_USE_BUFFER_OPS": str(int(config.buffer)),
        "TRITON_HIP_USE_BLOCK_PINGPONG": str(int(config.pingpong)),
    }
    return triton_compile.compiled(job, config.text(), told)


def work(config: MatmulConfig, m: int, n: int, k: int) -> Work:
    """The launch at these sizes, which its tiles must divide (its loads are not masked)."""
    code, lds = compiled(config)
    if m % config.bm or n % config.bn or k % config.bk:
        raise TritonError(f"{config.text()}: the tiles do not divide {m} x {n} x {k}")
    if lds > LDS_BYTES:
        raise TritonError(f"{config.text()}: {lds} bytes of LDS")
    kernel = machine.load(code).kernel("matmul")
    kind = numpy_dtype(DTYPES["bf16"])
    tensors = (Operand((m, k), kind, 0), Operand((n, k), kind, 1), Operand((m, n), kind, blank=True))
    numbers = (np.int32(value) for value in (m, n, k, k, k, n))
    return Work(
        "triton", kernel, (m // config.bm * (n // config.bn),), (64 * config.warps,),
        (*tensors, *numbers, None, None), lds=lds - kernel.info.group_segment_fixed_size,
    )  # fmt: skip


def contestant(config: MatmulConfig, m: int, n: int, k: int) -> Contestant:
    """The configuration at these sizes, sampled."""
    return Contestant("triton", config.text(), (executed(work(config, m, n, k)),))


SOURCE = """
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, m, n, k, stride_am, stride_bn, stride_cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           GROUP: tl.constexpr, XCDS: tl.constexpr):
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
    at_m, at_n = pid_m * BM + tl.arange(0, BM), pid_n * BN + tl.arange(0, BN)
    at_k = tl.arange(0, BK)
    a_at = a + at_m[:, None] * stride_am + at_k[None, :]
    b_at = b + at_n[None, :] * stride_bn + at_k[:, None]
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(tl.cdiv(k, BK)):
        total = tl.dot(tl.load(a_at), tl.load(b_at), total)
        a_at += BK
        b_at += BK
    tl.store(c + at_m[:, None] * stride_cm + at_n[None, :], total.to(tl.bfloat16))
"""
