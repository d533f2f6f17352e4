"""The same tiles in Triton, compiled for gfx942, for `tests.compile.counts`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(a, b, c, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # type: ignore
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    pa = a + rows[:, None] * sa + k[None, :]
    pb = b + cols[None, :] * sb + k[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK
    tl.store(c + rows[:, None] * sc + cols[None, :], acc.to(tl.bfloat16))


@triton.jit
def attention(q, k, v, o, N, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):  # type: ignore
    head = tl.program_id(1) * N * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d, n = tl.arange(0, D), tl.arange(0, BN)
    query = tl.load(q + head + rows[:, None] * D + d[None, :])
    acc = tl.zeros((BM, D), tl.float32)
    top = tl.full((BM,), -float("inf"), tl.float32)
    den = tl.zeros((BM,), tl.float32)
    for start in range(0, N, BN):
        s = tl.dot(query, tl.load(k + head + (start + n)[None, :] * D + d[:, None])) * scale
        new = tl.maximum(top, tl.max(s, 1))
        p, keep = tl.exp2(s - new[:, None]), tl.exp2(top - new)
        den = den * keep + tl.sum(p, 1)
        acc = acc * keep[:, None]
        acc = tl.dot(p.to(tl.bfloat16), tl.load(v + head + (start + n)[:, None] * D + d[None, :]), acc)
        top = new
    tl.store(o + head + rows[:, None] * D + d[None, :], (acc / den[:, None]).to(tl.bfloat16))


def _compile(
    fn: Any, types: dict[str, str], constants: dict[str, int], aligned: tuple[str, ...], **options: int
) -> bytes:
    signature = {**types, **dict.fromkeys(constants, "constexpr")}
    names = list(signature)
    attributes = {(names.index(n),): [["tt.divisibility", 16]] for n in aligned}
    source = ASTSource(fn=fn, signature=signature, constexprs=constants, attrs=attributes)
    made = triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options=options)
    code: bytes = made.asm["hsaco"]
    return code


def compiled() -> Iterator[tuple[str, str, bytes]]:
    """(description, kernel name, code object)"""
    matrix = dict.fromkeys("abc", "*bf16") | dict.fromkeys(("M", "N", "K", "sa", "sb", "sc"), "i32")
    aligned = ("a", "b", "c", "K", "sa", "sb", "sc")
    for waves, size in ((8, 16), (8, 32), (4, 32)):
        tile = {"BM": 256, "BN": 256, "BK": 64}
        code = _compile(matmul, matrix, tile, aligned, num_warps=waves, num_stages=2, matrix_instr_nonkdim=size)
        yield f"Triton GEMM 256x256x64, {waves} waves, {size}x{size}", "matmul", code
    flash = dict.fromkeys("qkvo", "*bf16") | {"N": "i32", "scale": "fp32"}
    for rows, waves in ((128, 4), (256, 8)):
        tile = {"D": 128, "BM": rows, "BN": 64}
        code = _compile(attention, flash, tile, ("q", "k", "v", "o", "N"), num_warps=waves, num_stages=2)
        yield f"Triton attention {rows}x64, D 128, {waves} waves", "attention", code
