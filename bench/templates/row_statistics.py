"""Parameter sets of products that write statistics of their rows, and what is made of these: norms and softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bench.templates.products import BIAS, DEPTHS, SMALL, Array, Settings, Symbols, product
from bench.templates.rows import Knobs
from bench.templates.template import Case, Floats, Template, step

SPANS = (64, 128)
"""Columns of a wave, by BN and WN."""


def _result(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    """The product with bias and activation; the launches after it have other operands and no activation."""
    return product(given, symbols, {**knobs, "HAS_U": "n", "S1": "gelu"})


def squares(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.asarray(np.square(product(given, symbols, knobs)).sum(2).reshape(-1))


def layer_norm(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    x = _result(given, symbols, knobs)
    x = x.reshape(-1, x.shape[2])
    off = x - x.mean(1, keepdims=True)
    y = off / np.sqrt(np.square(off).mean(1, keepdims=True) + symbols["eps"])
    return np.asarray(y * given["weight"].reshape(-1) + given["bias"].reshape(-1))[:, None, :]


def softmax(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    x = product(given, symbols, {**knobs, "HAS_U": "none", "S1": "none"})
    weights = np.exp(x - x.max(2, keepdims=True))
    return np.asarray(weights / weights.sum(2, keepdims=True))


def counted(arrays: dict[str, npt.NDArray[Any]]) -> None:
    """How many columns each tile has; the launch that joins them takes the same."""
    if "count" in arrays and "C" in arrays:
        columns, tiles = arrays["C"].shape[-1], len(arrays["count"])
        span = next(span for span in SPANS if -(-columns // span) == tiles)
        arrays["count"][...] = np.minimum(span, columns - span * np.arange(tiles))


def _first(kernel: str, knobs: Knobs, z: int, m: int, n: int, k: int) -> tuple[Case, dict[str, int], Knobs]:
    """The product, sizes of the launch that joins its tiles, and its knobs."""
    span = int(knobs.get("BN", 128)) // int(knobs.get("WN", 2))
    tiles = -(-n // span)
    held: Knobs = {"HELD": 1 if tiles <= 64 else 4}
    return (step("gemm_f32_rows", kernel, knobs, Z=z, M=m, N=n, K=k, P=tiles),), {"M": z * m, "P": tiles}, held


def summed(knobs: Knobs, z: int, m: int, n: int, k: int) -> Case:
    made, sizes, held = _first("product_sums", knobs, z, m, n, k)
    return (*made, step("joined_rows", "sums_joined", held, **sizes))


def normalized(knobs: Knobs, z: int, m: int, n: int, k: int, normalize: Knobs) -> Case:
    made, sizes, held = _first("product_moments", {**knobs, **BIAS, "S1": "gelu"}, z, m, n, k)
    return (
        *made,
        step("joined_rows", "moments_joined", held, **sizes),
        step("normalize", "whole", normalize, {"X": "C", "W": "weight"}, B=z * m, K=1, S=n),
    )


def weighted(knobs: Knobs, z: int, m: int, n: int, k: int, wide: int) -> Case:
    made, sizes, held = _first("product_softmax", knobs, z, m, n, k)
    rows: Knobs = {"S0": "sub_U", "S1": "exp", "S2": "div_V", "HAS_U": "ab", "HAS_V": "ab", "WIDE": wide}
    taken = {"X": "C", "U": "top", "V": "total"}
    return (
        *made,
        step("joined_rows", "softmax_joined", held, **sizes),
        step("fused_map", "fused_map", rows, taken, A=z, B=m, C=n),
    )


COLUMNS = (1, 2, 31, 32, 33, 63, 64, 65, 95, 127, 128, 129, 200)
"""Beside the 32 columns of a matrix instruction and the 64 of a wave."""
NARROW: Knobs = {**SMALL, "WN": 1}
ROWS = (1, 31, 33, 65)
STORED: tuple[Knobs, ...] = tuple({"A_BY_K": a, "B_BY_K": b} for a in (False, True) for b in (False, True))


def _shapes() -> list[tuple[Knobs, int, int, int, int]]:
    edges = [
        ({**NARROW, **STORED[number % 4]}, 1 + number % 5 // 4, m, n, DEPTHS[number % 6])
        for number, (n, m) in enumerate((n, m) for n in COLUMNS for m in ROWS[n % 2 :: 2] + ROWS[:1])
    ]
    wide: Knobs = {"BM": 64, "BN": 128}
    return [*edges, *[({**wide, **layout}, 1, 68, n, 36) for layout in STORED for n in (4, 132)]]


def narrow(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    """What the joining launch gives last, by the statistics that the product wrote."""
    c = given["A"] @ given["B"].T
    if "H" in given:
        return np.asarray(np.exp(c - c.max(1, keepdims=True)).sum(1))
    off = c - c.mean(1, keepdims=True) if "D" in given else c
    return np.asarray(np.square(off).sum(1))


def _narrow(kernel: str, knobs: Knobs, m: int, n: int, k: int) -> Case:
    span = int(knobs.get("BN", 256)) // int(knobs.get("WN", 2))
    tiles = -(-n // span)
    return (
        step("matmul_rows", f"matmul_{kernel}", knobs, M=m, N=n, K=k, P=tiles),
        step("joined_rows", f"{kernel}_joined", {"HELD": 1}, M=m, P=tiles),
    )


def _narrow_sets() -> tuple[Case, ...]:
    """N beside the columns of a wave and the four of a lane; the last K is no multiple of the 64 of a step."""
    knobs: Knobs = {"BM": 64, "BN": 64, "WN": 1, "WIDTH": 8, "KTAIL": True}
    shapes = [(1, 4), (33, 32), (63, 60), (64, 64), (65, 68), (31, 124), (66, 128), (2, 132), (70, 200), (5, 36)]
    plain = [
        _narrow(kernel, knobs, m, n, (4, 60, 64, 68, 200)[number % 5])
        for kernel in ("sums", "moments", "softmax")
        for number, (m, n) in enumerate([*shapes, (128, 8), (3, 260), (97, 96)])
    ]
    return (
        *plain,
        *[_narrow(k, {"INST": 16, "BM": 64, "BN": 128}, 40, 192, 64) for k in ("sums", "moments", "softmax")],
    )


LARGE = (1, 4096, 4096, 4096)
NORMALIZE: Knobs = {"CHUNKS": 1, "WIDTH": 4, "HELD": 1}

ROW_STATISTICS = (
    Template(
        "f32 product with sums and squares of rows",
        tuple(summed(*shape) for shape in _shapes()),
        summed({}, *LARGE),
        squares,
        bound="matrix",
    ),
    Template(
        "f32 product with moments of rows, layer norm after it",
        tuple(normalized(*shape, NORMALIZE) for shape in _shapes()),
        normalized({}, *LARGE, {}),
        layer_norm,
        bound="matrix",
        draw=counted,
    ),
    Template(
        "f32 product with maxima of rows, softmax after it",
        tuple(weighted(*shape, 1) for shape in _shapes()),
        weighted({}, *LARGE, 4),
        softmax,
        bound="matrix",
    ),
    Template(
        "bf16 product with statistics of rows",
        _narrow_sets(),
        _narrow("moments", {}, 4096, 4096, 4096),
        narrow,
        bound="matrix",
        draw=counted,
    ),
)
