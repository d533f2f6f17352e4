"""Triton kernels compiled for gfx942 without a GPU: foreign code for the machine to run.

compiled = compile_kernel(vadd, {"a": "*fp32", ...}, {"B": 1024}, aligned=("a", "b", "c"), num_warps=4)
compiled.hsaco, compiled.name, compiled.lds
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TARGET = GPUTarget("hip", "gfx942", 64)


@dataclass(frozen=True)
class Compiled:
    name: str
    hsaco: bytes
    asm: str
    lds: int
    warps: int


def compile_kernel(
    fn: Any, signature: dict[str, str], constants: dict[str, Any], aligned: tuple[str, ...] = (), **options: Any
) -> Compiled:
    full = dict(signature) | dict.fromkeys(constants, "constexpr")
    names = list(full)
    attrs = {(names.index(n),): [["tt.divisibility", 16]] for n in aligned}
    source = ASTSource(fn=fn, signature=full, constexprs=constants, attrs=attrs)
    kernel = triton.compile(source, target=TARGET, options=options)
    meta = kernel.metadata
    return Compiled(meta.name, kernel.asm["hsaco"], kernel.asm["amdgcn"], meta.shared, meta.num_warps)


@triton.jit
def vadd(a, b, c, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    tl.store(c + o, tl.load(a + o, mask=m) + tl.load(b + o, mask=m), mask=m)


@triton.jit
def matmul(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    om = pm * BM + tl.arange(0, BM)
    on = pn * BN + tl.arange(0, BN)
    ok = tl.arange(0, BK)
    ap = a + om[:, None] * sam + ok[None, :]
    bp = b + on[None, :] * sbk + ok[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(ap), tl.load(bp), acc)
        ap += BK
        bp += BK
    tl.store(c + om[:, None] * scm + on[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def matmul_splitk(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    pk = tl.program_id(2)
    om = pm * BM + tl.arange(0, BM)
    on = pn * BN + tl.arange(0, BN)
    ok = pk * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK * SPLIT):
        x = tl.load(a + om[:, None] * K + (k + ok)[None, :])
        y = tl.load(b + on[None, :] * K + (k + ok)[:, None])
        acc = tl.dot(x, y, acc)
    tl.atomic_add(c + om[:, None] * N + on[None, :], acc)


@triton.jit
def attention(q, k, v, o, N, sm, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    pm = tl.program_id(0)
    h = tl.program_id(1)
    q += h * N * D
    k += h * N * D
    v += h * N * D
    o += h * N * D
    om = pm * BM + tl.arange(0, BM)
    od = tl.arange(0, D)
    on = tl.arange(0, BN)
    Q = tl.load(q + om[:, None] * D + od[None, :])
    acc = tl.zeros((BM, D), tl.float32)
    m = tl.full((BM,), -float("inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    for s in range(0, N, BN):
        K = tl.load(k + (s + on)[None, :] * D + od[:, None])
        S = tl.dot(Q, K) * sm
        mn = tl.maximum(m, tl.max(S, 1))
        P = tl.exp2(S - mn[:, None])
        al = tl.exp2(m - mn)
        l = l * al + tl.sum(P, 1)
        acc = acc * al[:, None]
        V = tl.load(v + (s + on)[:, None] * D + od[None, :])
        acc = tl.dot(P.to(tl.bfloat16), V, acc)
        m = mn
    tl.store(o + om[:, None] * D + od[None, :], (acc / l[:, None]).to(tl.bfloat16))


@triton.jit
def softmax(x, y, N, B: tl.constexpr):
    r = tl.program_id(0)
    o = tl.arange(0, B)
    m = o < N
    v = tl.load(x + r * N + o, mask=m, other=-float("inf"))
    v = v - tl.max(v, 0)
    e = tl.exp(v)
    tl.store(y + r * N + o, e / tl.sum(e, 0), mask=m)


@triton.jit
def layernorm(x, w, b, y, N, eps, B: tl.constexpr):
    r = tl.program_id(0)
    o = tl.arange(0, B)
    m = o < N
    v = tl.load(x + r * N + o, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(v, 0) / N
    d = tl.where(m, v - mean, 0.0)
    inv = 1 / tl.sqrt(tl.sum(d * d, 0) / N + eps)
    scale = tl.load(w + o, mask=m, other=0.0).to(tl.float32)
    shift = tl.load(b + o, mask=m, other=0.0).to(tl.float32)
    tl.store(y + r * N + o, (d * inv * scale + shift).to(y.dtype.element_ty), mask=m)


@triton.jit
def column_sums(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    on = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BN,), tl.float32)
    for s in range(0, M, BM):
        om = s + tl.arange(0, BM)
        acc += tl.sum(tl.load(x + om[:, None] * N + on[None, :], mask=(om < M)[:, None], other=0.0), 0)
    tl.store(y + on, acc)


@triton.jit
def histogram(x, counts, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    m = o < n
    tl.atomic_add(counts + tl.load(x + o, mask=m, other=0), 1, mask=m)


MM = {
    "a": "*bf16",
    "b": "*bf16",
    "c": "*bf16",
    "M": "i32",
    "N": "i32",
    "K": "i32",
    "sam": "i32",
    "sbk": "i32",
    "scm": "i32",
}
MM_ALIGNED = ("a", "b", "c", "K", "sam", "sbk", "scm")


def compiled_vadd() -> Compiled:
    return compile_kernel(
        vadd, {"a": "*fp32", "b": "*fp32", "c": "*fp32", "n": "i32"}, {"B": 1024}, ("a", "b", "c"), num_warps=4
    )


def compiled_softmax(block: int = 1024, warps: int = 4) -> Compiled:
    signature = {"x": "*fp32", "y": "*fp32", "N": "i32"}
    return compile_kernel(softmax, signature, {"B": block}, ("x", "y"), num_warps=warps)


def compiled_matmul(
    bm: int, bn: int, bk: int, kdim: int = 16, warps: int = 4, dtype: str = "bf16", out: str = "bf16", stages: int = 2
) -> Compiled:
    signature = MM | {"a": f"*{dtype}", "b": f"*{dtype}", "c": f"*{out}"}
    return compile_kernel(
        matmul,
        signature,
        {"BM": bm, "BN": bn, "BK": bk},
        MM_ALIGNED,
        num_warps=warps,
        num_stages=stages,
        matrix_instr_nonkdim=kdim,
    )


def compiled_attention(bm: int = 128, bn: int = 64, d: int = 128, warps: int = 4) -> Compiled:
    signature = {"q": "*bf16", "k": "*bf16", "v": "*bf16", "o": "*bf16", "N": "i32", "sm": "fp32"}
    return compile_kernel(
        attention, signature, {"D": d, "BM": bm, "BN": bn}, ("q", "k", "v", "o", "N"), num_warps=warps, num_stages=2
    )


def compiled_layernorm(block: int = 1024, dtype: str = "fp32") -> Compiled:
    signature = {"x": f"*{dtype}", "w": f"*{dtype}", "b": f"*{dtype}", "y": f"*{dtype}", "N": "i32", "eps": "fp32"}
    return compile_kernel(layernorm, signature, {"B": block}, ("x", "w", "b", "y"), num_warps=4)


def compiled_column_sums() -> Compiled:
    signature = {"x": "*fp32", "y": "*fp32", "M": "i32", "N": "i32"}
    return compile_kernel(column_sums, signature, {"BM": 32, "BN": 64}, ("x", "y", "N"), num_warps=4)


def compiled_histogram() -> Compiled:
    return compile_kernel(histogram, {"x": "*i32", "counts": "*i32", "n": "i32"}, {"B": 256}, ("x",), num_warps=4)


def compiled_splitk() -> Compiled:
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "M": "i32", "N": "i32", "K": "i32"}
    constants = {"BM": 32, "BN": 32, "BK": 32, "SPLIT": 2}
    return compile_kernel(matmul_splitk, signature, constants, ("a", "b", "c", "K", "N"), num_warps=4, num_stages=1)
