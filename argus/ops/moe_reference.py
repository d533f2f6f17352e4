"""The mixture of experts in float64, with a bound on what a kernel may differ by; quantisation and routings for tests.

    w = blocks(weights, 128)                            fp8 values, their scales, and what they mean together
    shares = judged(launched(operands(...)), x, ...)    of each launch the largest part of its bound; above 1 is wrong

Every launch is judged by what the one before it left. So no bound has to carry a rounding to fp8 through a product,
where a step of 1/16 in any of thousands of elements would hide an error of ten percent. The bounds:

    (128 + K / 128 + 8) * 2^-24 * sum |products|     a block of 128 is summed in f32 in any order, then the blocks are
                                                     added up; 8: the scales and their products
    2^-8 * |x|                                       rounding to bf16 (8 significant bits)
    2 * 2^-24 * |s|                                  a scale: a division in f32
    neighbouring values of fp8                       where 2^-21 of the quotient crosses a boundary
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from argus.ops.moe import Launched

Wide = npt.NDArray[np.float64]
BF16, FP8 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fnuz
LARGEST, LEAST = 240.0, 1e-30
BLOCK = 128
UNIT, ROUND = 2.0**-24, 2.0**-8
TINY = float(np.finfo(np.float32).tiny)
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
    """a @ b.T, and what sums in f32 may differ by: within blocks of 128, then over the blocks with their scales."""
    roundings = BLOCK + a.shape[1] // BLOCK + 8
    return a @ b.T, roundings * UNIT * (np.abs(a) @ np.abs(b).T)


def activated(gate: Wide, up: Wide) -> Wide:
    """silu(gate) * up."""
    with np.errstate(over="ignore"):
        h: Wide = gate / (1.0 + np.exp(-gate)) * up
    return h


def gate_up(x: Wide, w: Wide) -> tuple[Wide, Wide]:
    """silu(x @ gate.T) * (x @ up.T) of one expert's weights, gate rows first, as bf16; silu is at most 1.1 steep."""
    value, error = product(x, w)
    (gate, up), (gate_error, up_error) = np.split(value, 2, axis=1), np.split(error, 2, axis=1)
    want = activated(gate, up)
    off = 1.1 * gate_error * np.abs(up) + np.abs(activated(gate, np.ones_like(up))) * up_error
    return want, off + gate_error * up_error + (ROUND + 16 * UNIT) * np.abs(want) + TINY


def down(q: Wide, w: Wide) -> tuple[Wide, Wide]:
    """q @ w.T as bf16."""
    want, error = product(q, w)
    return want, error + ROUND * np.abs(want) + TINY


def combined(y: Wide, slots: npt.NDArray[Any], weights: npt.NDArray[Any]) -> tuple[Wide, Wide]:
    """The sum of each token's rows by their weights, as bf16."""
    terms = weights.astype(np.float64)[..., None] * y[slots]
    want = terms.sum(1)
    return want, 2 * slots.shape[1] * UNIT * np.abs(terms).sum(1) + ROUND * np.abs(want) + TINY


def quantised(h: npt.NDArray[Any], values: npt.NDArray[Any], scales: npt.NDArray[Any]) -> float:
    """The largest share of its bound by which a scale is off; infinite where a value is none of what its quotient, off
    by two roundings of f32 each way, rounds to."""
    parts = h.astype(np.float64).reshape(*h.shape[:-1], -1, BLOCK)
    want = np.maximum(np.abs(parts).max(-1), LEAST) / LARGEST
    low, high = ((parts / want[..., None] * f).astype(FP8).astype(np.float64) for f in (1 - 2.0**-21, 1 + 2.0**-21))
    got = values.astype(np.float64).reshape(parts.shape)
    right = (np.minimum(low, high) <= got) & (got <= np.maximum(low, high))
    return share(scales, want, 2 * UNIT * want) if right.all() else np.inf


def share(got: npt.NDArray[Any], want: Wide, bound: Wide) -> float:
    """The largest part of its bound that an element is off by; more than 1 is wrong."""
    with np.errstate(invalid="ignore"):
        off = np.abs(got.astype(np.float64) - want) / bound
    return float(np.where(np.isnan(off), np.inf, off).max())


def judged(
    made: Launched,
    x: npt.NDArray[Any],
    w_gate_up: Wide,
    w_down: Wide,
    ids: npt.NDArray[Any],
    weights: npt.NDArray[Any],
) -> dict[str, float]:
    """For every launch of a layer the largest share of its bound, each from what the launch before it left; x is bf16,
    the weights are [E, 2 * inter, dim] and [E, dim, inter] as they are meant."""
    routing, block = made.routing, made.routing.block
    at_home = (routing.tokens[routing.slots] == np.arange(len(ids))[:, None]).all()
    rows = np.concatenate([_meant(made.x, made.x_scales), np.zeros((1, x.shape[1]))])[routing.tokens]
    q = _meant(made.q, made.q_scales)
    found = {
        "routing": 0.0 if at_home and (routing.experts[routing.slots // block] == ids).all() else np.inf,
        "quantise x": quantised(x, made.x, made.x_scales),
        "gate and up": 0.0,
        "quantise": quantised(made.hidden, made.q, made.q_scales),
        "down": 0.0,
        "combine": share(made.out, *combined(made.y.astype(np.float64), routing.slots, weights)),
    }
    for number, expert in enumerate(routing.experts):
        at = slice(number * block, (number + 1) * block)
        found["gate and up"] = max(found["gate and up"], share(made.hidden[at], *gate_up(rows[at], w_gate_up[expert])))
        found["down"] = max(found["down"], share(made.y[at], *down(q[at], w_down[expert])))
    return found


def _meant(values: npt.NDArray[Any], scales: npt.NDArray[Any]) -> Wide:
    """What fp8 values with a scale per 128 of a row stand for."""
    meant: Wide = values.astype(np.float64) * np.repeat(scales.astype(np.float64), BLOCK, axis=-1)
    return meant


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
