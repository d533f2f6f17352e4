"""The three kernels of the mutation suite: GEMM (four of them, one with direct copies to LDS), attention, fused MoE.

Each has what it computes as a specification for the checker and, independently, as a numpy reference for the
interpreter's result, with small launches that reach several blocks, iterations and (MoE) tokens taken twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from argus.ir.interp import extents
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.ir.specified import restated
from argus.lang import read
from tests.check.programs import Program, direct, product

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "lang" / "programs"

_WEIGHT = "where(k <= q, exp(scale * sum(Q[b, h, q, c] * K[b, h, k, c], c)), 0)"
ATTENTION = f"O[b, h, q, d] = sum({_WEIGHT} * V[b, h, k, d], k) / sum({_WEIGHT}, k)"
_EXPERT = "sum(X[t, k] * W[block_expert[r // 64], n, k], k)"
MOE = f"Y[t, n] = Y[t, n] + sum(where(row_token[r] == t, row_weight[r] * {_EXPERT}, 0), r)"


def _sizes(names: str, *rows: tuple[int, ...]) -> tuple[dict[str, int], ...]:
    return tuple(dict(zip(names.split(), row, strict=True)) for row in rows)


def gemm() -> Program:
    kernel = read(ROOT / "argus" / "kernels" / "gemm.py")
    return Program(kernel, _sizes("M N K", (128, 128, 128), (256, 128, 64)), product)


def small_gemm() -> Program:
    kernel = read(ROOT / "argus" / "kernels" / "gemm.py", settings={"BM": 64, "BN": 64})
    return Program(kernel, _sizes("M N K", (128, 64, 128), (64, 128, 64)), product)


def pipelined() -> Program:
    kernel = read(ROOT / "argus" / "kernels" / "gemm_pipelined.py")
    return Program(
        kernel,
        _sizes(
            "M N K",
            (256, 256, 192),
        ),
        product,
    )


def attention() -> Program:
    kernel = read(PROGRAMS / "attention.py", settings={"causal": True})
    sizes = _sizes("B H Sq Sk", (1, 1, 128, 128), (1, 2, 256, 192))
    kernel = kernel if kernel.computes else restated(kernel, ATTENTION)
    return Program(kernel, sizes, _attend, "O", _fractions, {"scale": 0.125}, 2e-2)


def _fractions(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    dice = np.random.default_rng(3)
    return {
        t.name: (dice.integers(-8, 9, extents(t, sizes)) / 8).astype(numpy_dtype(t.dtype))
        for t in kernel.tensors
        if t.read
    }


def _attend(arrays: dict[str, np.ndarray]) -> np.ndarray:
    q, k, v = (arrays[n].astype(np.float64) for n in "QKV")
    s = np.einsum("bhqd,bhkd->bhqk", q, k) * 0.125
    s = np.where(np.arange(s.shape[-1]) <= np.arange(s.shape[-2])[:, None], s, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("bhqk,bhkd->bhqd", e / e.sum(-1, keepdims=True), v)


def moe() -> Program:
    kernel = read(PROGRAMS / "moe.py")
    sizes = _sizes("T K E N R P", (40, 128, 3, 128, 128, 2), (8, 64, 2, 256, 128, 2))
    kernel = kernel if kernel.computes else restated(kernel, MOE)
    return Program(kernel, sizes, _route, "Y", _routed, tolerance=1e-5, atomic=True)


def _routed(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    dice = np.random.default_rng(4)
    made = _fractions(kernel, sizes)
    made["Y"] = np.zeros_like(made["Y"])
    made["block_expert"] = (np.arange(sizes["P"]) % sizes["E"]).astype(np.int32)  # neighbours differ
    made["row_token"] = dice.integers(0, sizes["T"], sizes["R"]).astype(np.int32)
    return made


def _route(arrays: dict[str, np.ndarray]) -> np.ndarray:
    x, w = arrays["X"].astype(np.float64), arrays["W"].astype(np.float64)
    result = np.zeros((len(x), w.shape[1]))
    blocks = arrays["block_expert"]
    for r, (token, weight) in enumerate(zip(arrays["row_token"], arrays["row_weight"], strict=True)):
        expert = blocks[r // 64] if r // 64 < len(blocks) else 0  # outside its tensor an element is zero
        result[token] += weight * (w[expert] @ x[token])
    return result


KERNELS: dict[str, Callable[[], Program]] = {
    "gemm": gemm,
    "gemm64": small_gemm,
    "pipelined": pipelined,
    "direct": direct,
    "attention": attention,
    "moe": moe,
}
