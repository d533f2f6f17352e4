"""The mixture of experts in float64, with a bound on what a kernel may differ by; quantisation and routings for tests.

    w = blocks(weights, 128)                            fp8 values, their scales, and what they mean together
    value, bound = layer(x, w_gate_up, w_down, ids, topk_weights)

The reference follows the kernels through their two roundings: the activation to bf16, then to fp8 by blocks of 128. A
kernel's f32 value may fall on the other side of a rounding boundary; `bound` allows each element the step that a
relative change of CHANGE can make, and no more, beside f32 sums in any order and the bf16 results of the experts.

    n * 2^-24 * sum |products|     a sum of n products in f32, in any order
    2^-8 * |x|                     rounding to bf16 (8 significant bits)
    one step of fp8                where a change of 2^-7 (an ulp of bf16 in value and in scale) crosses a boundary
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Wide = npt.NDArray[np.float64]
BF16, FP8 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fnuz
LARGEST, LEAST = 240.0, 1e-30
BLOCK = 128
UNIT, ROUND = 2.0**-24, 2.0**-8
CHANGE = 2.0**-7
ROUTINGS = ("uniform", "one expert", "few experts", "skewed")


@dataclass(frozen=True, slots=True)
class Blocks:
    """fp8 values, one scale per block, and their product in float64."""

    values: npt.NDArray[Any]
    scales: npt.NDArray[np.float32]
    meaning: Wide


def blocks(x: npt.NDArray[Any], rows: int) -> Blocks:
    """`x` in fp8 with a scale per `rows` x 128: the largest magnitude divided by 240."""
    *outer, n, k = x.shape
    parts = x.astype(np.float32).reshape(*outer, n // rows, rows, k // BLOCK, BLOCK)
    largest = np.maximum(np.abs(parts).max((-3, -1), keepdims=True), np.float32(LEAST))
    scales = (largest / np.float32(LARGEST)).astype(np.float32)
    values = (parts / scales).astype(FP8)
    meaning = (values.astype(np.float64) * scales).reshape(x.shape)
    return Blocks(values.reshape(x.shape), np.ascontiguousarray(scales[..., 0, :, 0]), meaning)


def product(a: Wide, b: Wide) -> tuple[Wide, Wide]:
    """a @ b.T, and what a sum in f32 may differ by: products, scales and additions of each block."""
    return a @ b.T, (a.shape[1] + 8) * UNIT * (np.abs(a) @ np.abs(b).T)


def activated(gate: Wide, up: Wide) -> Wide:
    """silu(gate) * up."""
    with np.errstate(over="ignore"):
        h: Wide = gate / (1.0 + np.exp(-gate)) * up
    return h


def hidden(h: Wide) -> tuple[Wide, Wide]:
    """The activation as the second product sees it (bf16, then fp8 by blocks), and how far an element may be off."""
    parts = h.astype(BF16).astype(np.float64).reshape(len(h), -1, BLOCK)
    scales = np.maximum(np.abs(parts).max(-1, keepdims=True), LEAST) / LARGEST
    low, middle, high = ((parts / scales * f).astype(FP8).astype(np.float64) for f in (1 - CHANGE, 1.0, 1 + CHANGE))
    high = np.where(np.isnan(high), np.copysign(LARGEST, middle), high)
    step = np.maximum(np.abs(high - middle), np.abs(middle - low)) + CHANGE * np.abs(middle)
    return (middle * scales).reshape(h.shape), (step * scales).reshape(h.shape)


def layer(
    x: Wide, w_gate_up: Wide, w_down: Wide, ids: npt.NDArray[Any], weights: npt.NDArray[Any]
) -> tuple[Wide, Wide]:
    """out [T, dim] and its bound; x, w_gate_up [E, 2 * inter, dim], w_down [E, dim, inter] as they are meant."""
    out, bound = np.zeros((len(x), x.shape[1])), np.zeros((len(x), x.shape[1]))
    for expert in range(len(w_gate_up)):
        token, slot = np.nonzero(ids == expert)
        if not len(token):
            continue
        gate, up = np.split(product(x[token], w_gate_up[expert])[0], 2, axis=1)
        a, off = hidden(activated(gate, up))
        y, summed = product(a, w_down[expert])
        weight = weights[token, slot].astype(np.float64)[:, None]
        error = summed + off @ np.abs(w_down[expert]).T + ROUND * np.abs(y)
        np.add.at(out, token, weight * y)
        np.add.at(bound, token, np.abs(weight) * (error + 4 * UNIT * np.abs(y)))
    return out, bound + ROUND * np.abs(out) + np.finfo(np.float32).tiny


def routing(kind: str, tokens: int, experts: int, topk: int, seed: int = 0) -> npt.NDArray[np.int32]:
    """Experts of every token [T, topk], all different within a token unless `one expert` is asked for."""
    dice = np.random.default_rng(seed)
    if kind == "one expert":
        return np.full((tokens, topk), experts // 2, np.int32)
    likely = np.ones(experts)
    if kind == "few experts":
        likely[topk + 1 :] = 0.0
    elif kind == "skewed":
        likely = 1.0 / np.arange(1, experts + 1) ** 2
    elif kind != "uniform":
        raise ValueError(f"there is no routing {kind!r}; there are {', '.join(ROUTINGS)}")
    with np.errstate(divide="ignore"):
        keys = np.log(likely) + dice.gumbel(size=(tokens, experts))
    return np.argsort(-keys, axis=1)[:, :topk].astype(np.int32)
