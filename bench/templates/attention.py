"""Parameter sets of attention with heads of any width, in three launches: scores, softmax of rows, values.

    C[z, m, n] = scale * sum(Q[z, m, k] * K[z, n, k], k)        gemm_f32, S0="scale"
    Y          = softmax of the rows of C                       softmax, or softmax_long for many keys
    C[z, m, k] = sum(Y[z, m, n] * V[z, n, k], n)                gemm_f32

Heads of 64 and 128 have a kernel of their own (`attention`), which never writes the scores.
"""

from __future__ import annotations

import math

import numpy as np

from bench.templates.products import Array, Settings, Symbols
from bench.templates.template import Case, Floats, Template, step

SMALL = {"BM": 64, "BN": 64, "WIDTH": 4}
KEYS = 512
"""Keys up to which a row of scores is held in registers."""


def attention(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    scores = np.einsum("zmk,znk->zmn", given["A"], given["B"]) / math.sqrt(given["A"].shape[2])
    weights = np.exp(scores - scores.max(2, keepdims=True))
    return np.einsum("zmn,znk->zmk", weights / weights.sum(2, keepdims=True), given["values"])


def case(z: int, queries: int, keys: int, width: int, products: dict[str, int], access: int) -> Case:
    """`products`: knobs of the products; `access`: bytes per access to scores."""
    rows = "softmax" if keys <= KEYS else "softmax_long"
    numbers = {"p0": 1 / math.sqrt(width)}
    scored = {**products, "B_BY_K": False, "S0": "scale"}
    return (
        step("gemm_f32", "gemm_f32", scored, numbers=numbers, Z=z, M=queries, N=keys, K=width),
        step("softmax", rows, {"DTYPE": "f32", "WIDTH": access}, {"X": "C"}, M=z * queries, N=keys),
        step("gemm_f32", "gemm_f32", products, {"A": "Y", "B": "values"}, Z=z, M=queries, N=width, K=keys),
    )


WIDTHS = (1, 31, 64, 96, 128, 200, 256, 512, 1000, 1024)
LENGTHS = ((1, 65), (33, 64), (64, 17), (70, 520))
"""Queries and keys: remainders of tiles of 64, and more keys than registers hold."""

ATTENTION = (
    Template(
        "attention, any width of heads (three launches)",
        tuple(
            case(1 + (number + width) % 3, queries, keys, width, SMALL, 4)
            for width in WIDTHS
            for number, (queries, keys) in enumerate(LENGTHS)
        ),
        case(1024, 512, 512, 1024, {}, 16),
        attention,
        bound="matrix",
    ),
)
