"""fp8 (E4M3 FNUZ) with block scales: making it, arranging weights, and the product of two matrices.

    q, s = ops.quantise(x)                       bf16 [.., K] -> fp8 [.., K], f32 [.., K // 128]: x is about q * s
    w = ops.arranged(weights)                    [.., N, K] -> [.., N // 32, K // 16, 32, 16], once per weight matrix
    c = ops.fp8_matmul(q, s, w, weight_scales)   bf16 [M, N]

Weights have one scale per 128 x 128. Kernels read them in blocks of 32 rows by 16 columns; plain [N, K] weights are
taken too and arranged on the host, which is a copy at every call.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from argus.ops.arrays import blank_like, element, filled_like, given, is_tensor, shape
from argus.ops.choice import Choice, NoKernel, reachable, table
from argus.ops.launch import run

BLOCK = 128
ROWS, DEPTH = 32, 16
"""Rows and columns of a block of weights as stored."""


def arranged(weights: Any) -> Any:
    """Weights [.., N, K] in the kernels' order: [.., N // 32, K // 16, 32, 16]."""
    *outer, n, k = checked_weights(weights)
    blocks = weights.reshape(*outer, n // ROWS, ROWS, k // DEPTH, DEPTH)
    turned = blocks.swapaxes(-3, -2)
    return turned.contiguous() if is_tensor(weights) else np.ascontiguousarray(turned)


def checked_weights(weights: Any) -> tuple[int, ...]:
    """The extents of weights that can be arranged."""
    if len(shape(weights)) < 2 or shape(weights)[-2] % BLOCK or shape(weights)[-1] % BLOCK:
        raise NoKernel(f"weights are [.., N, K], N and K multiples of {BLOCK}, not {list(shape(weights))}")
    return shape(weights)


def checked_blocks(x: Any) -> tuple[int, ...]:
    """The extents of what can be quantised."""
    if element(x, "x") != "bf16":
        raise NoKernel(f"quantise takes bf16, not {element(x, 'x')}; nearest is bf16")
    if not shape(x) or shape(x)[-1] % BLOCK:
        raise NoKernel(f"quantise needs rows that are multiples of {BLOCK}, not {list(shape(x))}")
    return shape(x)


def quantise(x: Any, *, device: str = "auto") -> tuple[Any, Any]:
    """fp8 values and the scale of every 128 neighbours: the largest of them divided by 240."""
    extents = checked_blocks(x)
    blocks = math.prod(extents) // BLOCK
    reachable({"x": 2 * math.prod(extents)}, "quantise fewer rows at a time")
    q = blank_like(x, extents, "fp8")
    scales = blank_like(x, (*extents[:-1], extents[-1] // BLOCK), "f32")
    if not blocks:
        return q, scales
    arrays = {
        "H": given(x, "x").reshape(blocks, BLOCK),
        "Q": given(q, "q").reshape(blocks, BLOCK),
        "s": given(scales, "scales").reshape(blocks),
    }
    run(Choice("moe", "quantise", {}), arrays, {"B": blocks}, device=device)
    return q, scales


def steps(k: int, most: int = 4) -> dict[str, Any]:
    """Knobs that depend on the number of 128-blocks of k: steps of a turn, `most` or fewer, and whether one load brings
    all its scales."""
    blocks = k // BLOCK
    turn = 4 if most == 4 and blocks % 4 == 0 else 2
    return {"TURN": turn, "WIDE": blocks % turn == 0}


def choose_fp8(m: int, n: int, k: int) -> Choice:
    """The kernel for [m, k] times [n, k]: the row of the table nearest in m."""
    for name, size in (("N", n), ("K", k)):
        if size < BLOCK or size % BLOCK:
            nearest = max(BLOCK, BLOCK * round(size / BLOCK))
            raise NoKernel(f"fp8_matmul needs {name} in multiples of {BLOCK}, not {size}; nearest is {nearest}")
    if m < 1:
        raise NoKernel(f"fp8_matmul needs M >= 1, not {m}")
    reachable({"a": m * k, "b": n * k, "the result": 2 * m * n}, "split the product along M or N")
    rows = table("moe")["fp8_matmul"]
    row = min(rows, key=lambda r: abs(math.log2(m / r["M"])))
    return Choice("fp8_gemm", "fp8_matmul", {**row["knobs"], **steps(k)})


def weights_of(w: Any, name: str, axes: int) -> Any:
    """Weights as the kernels take them: arranged ones (two axes more than `axes`) as they are, plain ones arranged."""
    weight_extents(w, name, axes)
    return arranged(w) if len(shape(w)) == axes else w


def weight_extents(w: Any, name: str, axes: int) -> tuple[int, ...]:
    """[.., N, K] of weights, plain or arranged."""
    if element(w, name) != "fp8":
        raise NoKernel(f"{name} is {element(w, name)}; the kernels take fp8 (float8_e4m3fnuz)")
    extents = shape(w)
    if len(extents) == axes:
        return checked_weights(w)
    if len(extents) != axes + 2 or extents[-2:] != (ROWS, DEPTH):
        raise NoKernel(f"{name} has shape {list(extents)}; it is [.., N, K], or arranged [.., N/32, K/16, 32, 16]")
    *outer, rows, columns, _, _ = extents
    return (*outer, rows * ROWS, columns * DEPTH)


def checked_scales(scales: Any, name: str, extents: tuple[int, ...]) -> None:
    """Refuse scales of another shape or type."""
    if element(scales, name) != "f32" or shape(scales) != extents:
        found = f"{element(scales, name)}{list(shape(scales))}"
        raise NoKernel(f"{name} must be f32{list(extents)}, one per {BLOCK}, not {found}")


def fp8_sizes(a: Any, a_scales: Any, b: Any, b_scales: Any) -> tuple[int, int, int]:
    """(M, N, K) of operands that fit together, of which nothing but types and extents is asked."""
    if element(a, "a") != "fp8" or len(shape(a)) != 2:
        raise NoKernel(f"a must be fp8 [M, K], not {element(a, 'a')}{list(shape(a))}")
    (m, k), (n, kb) = shape(a), weight_extents(b, "b", 2)
    if k != kb:
        raise NoKernel(f"a has K = {k} and b has K = {kb}")
    checked_scales(a_scales, "a_scales", (m, k // BLOCK))
    checked_scales(b_scales, "b_scales", (n // BLOCK, k // BLOCK))
    return m, n, k


def fp8_matmul(a: Any, a_scales: Any, b: Any, b_scales: Any, *, device: str = "auto") -> Any:
    """bf16 [M, N] of a [M, K] and b [N, K] (or arranged), scales [M, K / 128] and [N / 128, K / 128]."""
    m, n, k = fp8_sizes(a, a_scales, b, b_scales)
    choice = choose_fp8(m or 1, n or BLOCK, k or BLOCK)
    if 0 in (m, n, k):
        return filled_like(a, (m, n), "bf16", 0.0)
    c = blank_like(a, (m, n), "bf16")
    arrays = {"A": given(a, "a"), "B": given(weights_of(b, "b", 2), "b"), "C": given(c, "c")}
    arrays |= {"sa": given(a_scales, "a_scales"), "sb": given(b_scales, "b_scales")}
    sizes = {"M": m, "N": n, "K": k, "Kb": k // BLOCK, "Nb": n // BLOCK, "Nt": n // ROWS, "Kc": k // DEPTH}
    run(choice, arrays, sizes, device=device)
    return c
