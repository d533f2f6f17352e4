"""Triton kernels compiled for gfx942 (no GPU needed), with arguments and expected results: what the JIT is tried on.

    launch = gemm(256, 256, 128)
    load(launch.code).kernel()(launch.grid, launch.block, *launch.args, lds=launch.lds, executor="jit")
    launch.args[2]            the result, as bf16 bits;     launch.expected: by NumPy, in f32

Each function compiles its kernel once per process. Not a test module itself.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TARGET = GPUTarget("hip", "gfx942", 64)


@dataclass(frozen=True)
class Launch:
    """A kernel with everything a launch of it needs. `args[output]` receives the result."""

    code: bytes
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[Any, ...]
    lds: int
    output: int
    expected: np.ndarray
    flops: float = 0.0


@triton.jit
def vadd_kernel(a, b, c, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    tl.store(c + o, tl.load(a + o, mask=m) + tl.load(b + o, mask=m), mask=m)


@triton.jit
def gemm_kernel(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    on = tl.program_id(1) * BN + tl.arange(0, BN)
    ok = tl.arange(0, BK)
    ap = a + om[:, None] * sam + ok[None, :]
    bp = b + on[None, :] * sbk + ok[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(ap), tl.load(bp), acc)
        ap += BK
        bp += BK
    tl.store(c + om[:, None] * scm + on[None, :], acc.to(tl.bfloat16))


@triton.jit
def attention_kernel(q, k, v, o, N, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    start = tl.program_id(1) * N * D
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    od = tl.arange(0, D)
    on = tl.arange(0, BN)
    Q = tl.load(q + start + om[:, None] * D + od[None, :])
    acc = tl.zeros((BM, D), tl.float32)
    m = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for s in range(0, N, BN):
        S = tl.dot(Q, tl.load(k + start + (s + on)[None, :] * D + od[:, None])) * scale
        new = tl.maximum(m, tl.max(S, 1))
        P = tl.exp2(S - new[:, None])
        shrink = tl.exp2(m - new)
        total = total * shrink + tl.sum(P, 1)
        V = tl.load(v + start + (s + on)[:, None] * D + od[None, :])
        acc = tl.dot(P.to(tl.bfloat16), V, acc * shrink[:, None])
        m = new
    tl.store(o + start + om[:, None] * D + od[None, :], (acc / total[:, None]).to(tl.bfloat16))


@triton.jit
def softmax_kernel(x, y, N, B: tl.constexpr):
    o = tl.arange(0, B)
    m = o < N
    value = tl.load(x + tl.program_id(0) * N + o, mask=m, other=-float("inf"))
    e = tl.exp(value - tl.max(value, 0))
    tl.store(y + tl.program_id(0) * N + o, e / tl.sum(e, 0), mask=m)


@triton.jit
def histogram_kernel(x, counts, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    tl.atomic_add(counts + tl.load(x + o, mask=m, other=0), 1, mask=m)


@triton.jit
def atomic_sum_kernel(x, out, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + o, mask=o < n, other=0.0), 0))


@functools.cache
def compiled(kernel: Any, signature: tuple[tuple[str, str], ...], constants: tuple[tuple[str, int], ...],
             aligned: tuple[str, ...], options: tuple[tuple[str, int], ...]) -> tuple[bytes, int]:  # fmt: skip
    """(code object, bytes of LDS)."""
    types = dict(signature) | {name: "constexpr" for name, _ in constants}
    names = list(types)
    attributes = {(names.index(n),): [["tt.divisibility", 16]] for n in aligned}
    source = ASTSource(fn=kernel, signature=types, constexprs=dict(constants), attrs=attributes)
    made = triton.compile(source, target=TARGET, options=dict(options))
    return made.asm["hsaco"], made.metadata.shared


def to_bf16(x: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.uint32) << 16).view(np.float32)


def vector_add(n: int, aligned: bool = True, seed: int = 0) -> Launch:
    code, lds = compiled(
        vadd_kernel,
        (("a", "*fp32"), ("b", "*fp32"), ("c", "*fp32"), ("n", "i32")),
        (("B", 1024),),
        ("a", "b", "c", "n") if aligned else ("a", "b", "c"),
        (("num_warps", 4),),
    )
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal(n, dtype=np.float32) for _ in range(2))
    args = (a, b, np.zeros(n, np.float32), n, None, None)
    return Launch(code, (-(-n // 1024), 1, 1), (256, 1, 1), args, lds, 2, a + b)


def gemm(m: int, n: int, k: int, tile: int = 256, instruction: int = 16, seed: int = 0) -> Launch:
    pointers = (("a", "*bf16"), ("b", "*bf16"), ("c", "*bf16"))
    numbers = tuple((name, "i32") for name in ("M", "N", "K", "sam", "sbk", "scm"))
    depth, waves = (64, 8) if tile == 256 else (32, 4)
    code, lds = compiled(
        gemm_kernel,
        pointers + numbers,
        (("BM", tile), ("BN", tile), ("BK", depth)),
        ("a", "b", "c", "K", "sam", "sbk", "scm"),
        (("num_warps", waves), ("num_stages", 2), ("matrix_instr_nonkdim", instruction)),
    )
    rng = np.random.default_rng(seed)
    a, b = to_bf16(rng.standard_normal((m, k))), to_bf16(rng.standard_normal((n, k)))
    args = (a, b, np.zeros((m, n), np.uint16), m, n, k, k, k, n, None, None)
    expected = from_bf16(a) @ from_bf16(b).T
    return Launch(code, (m // tile, n // tile, 1), (64 * waves, 1, 1), args, lds, 2, expected, 2.0 * m * n * k)


def attention(n: int, heads: int = 1, seed: int = 0) -> Launch:
    d = 128
    code, lds = compiled(
        attention_kernel,
        (("q", "*bf16"), ("k", "*bf16"), ("v", "*bf16"), ("o", "*bf16"), ("N", "i32"), ("scale", "fp32")),
        (("D", d), ("BM", 128), ("BN", 64)),
        ("q", "k", "v", "o", "N"),
        (("num_warps", 4), ("num_stages", 2)),
    )
    rng = np.random.default_rng(seed)
    q, k, v = (to_bf16(rng.standard_normal((heads, n, d))) for _ in range(3))
    args = (q, k, v, np.zeros_like(q), n, np.float32(math.log2(math.e) / math.sqrt(d)), None, None)
    scores = from_bf16(q) @ from_bf16(k).transpose(0, 2, 1) / math.sqrt(d)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    expected = (p / p.sum(-1, keepdims=True)) @ from_bf16(v)
    return Launch(code, (n // 128, heads, 1), (256, 1, 1), args, lds, 3, expected, 4.0 * heads * n * n * d)


def softmax(rows: int, n: int, seed: int = 0) -> Launch:
    signature = (("x", "*fp32"), ("y", "*fp32"), ("N", "i32"))
    code, lds = compiled(softmax_kernel, signature, (("B", 1024),), ("x", "y"), (("num_warps", 4),))
    x = np.random.default_rng(seed).standard_normal((rows, n), dtype=np.float32) * 3
    e = np.exp(x - x.max(1, keepdims=True))
    args = (x, np.zeros_like(x), n, None, None)
    return Launch(code, (rows, 1, 1), (256, 1, 1), args, lds, 1, e / e.sum(1, keepdims=True))


def histogram(n: int, seed: int = 0) -> Launch:
    signature = (("x", "*i32"), ("counts", "*i32"), ("n", "i32"))
    code, lds = compiled(histogram_kernel, signature, (("B", 256),), ("x", "counts"), (("num_warps", 4),))
    x = np.random.default_rng(seed).integers(0, 37, n).astype(np.int32)
    args = (x, np.zeros(37, np.int32), n, None, None)
    return Launch(code, (-(-n // 256), 1, 1), (256, 1, 1), args, lds, 1, np.bincount(x, minlength=37))


def atomic_sum(n: int, seed: int = 0) -> Launch:
    signature = (("x", "*fp32"), ("out", "*fp32"), ("n", "i32"))
    code, lds = compiled(atomic_sum_kernel, signature, (("B", 256),), ("x", "out"), (("num_warps", 4),))
    x = np.random.default_rng(seed).standard_normal(n, dtype=np.float32)
    args = (x, np.zeros(1, np.float32), n, None, None)
    return Launch(code, (-(-n // 256), 1, 1), (256, 1, 1), args, lds, 1, x.sum(keepdims=True))
