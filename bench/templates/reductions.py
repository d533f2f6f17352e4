"""Parameter sets of the reductions and losses, and their definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.ir.kernel import KnobValue
from bench.templates.rows import LARGE, Knobs, alone, held, only_walked, walked
from bench.templates.template import Case, Floats, Step, Template, one, step

Array = npt.NDArray[np.float64]
Symbols = Mapping[str, float]
Settings = Mapping[str, KnobValue]

OVER = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min}


def row_reduced(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.asarray(OVER[str(knobs["OP"])](given["X"], axis=1))


def middle_reduced(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.asarray(OVER[str(knobs["OP"])](given["X"], axis=1))


def logsumexp(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.asarray(np.logaddexp.reduce(given["X"], axis=1))


def log_softmax(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.asarray(given["X"] - np.logaddexp.reduce(given["X"], axis=1, keepdims=True))


def mse(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.mean((given["X"] - given["Y"]) ** 2, keepdims=True).reshape(1)


def huber(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    d = np.abs(given["X"] - given["Y"])
    return np.mean(np.where(d < 1, 0.5 * d * d, d - 0.5)).reshape(1)


def hinge(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.mean(np.clip(1 - given["X"] * given["Y"], 0, None)).reshape(1)


def kl(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    x, y = given["X"], given["Y"]
    return np.sum(y * np.log(y / x)).reshape(1) / len(x)


def cosine(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    x, y = given["X"], given["Y"]
    norms = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    return np.mean(1 - np.einsum("mn,mn->m", x, y) / norms).reshape(1)


def triplet(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    near = np.linalg.norm(given["X"] - given["Y"] + symbols["eps"], axis=1)
    far = np.linalg.norm(given["X"] - given["Z"] + symbols["eps"], axis=1)
    return np.mean(np.maximum(near - far + symbols["margin"], 0)).reshape(1)


def cross_entropy(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    """Minus the logarithm of the softmax at the target, row by row."""
    x, terms = given["X"], []
    for row, target in zip(x, given["Y"].astype(np.int64), strict=True):
        terms.append(np.logaddexp.reduce(row) - row[target])
    return np.mean(terms).reshape(1)


def positive(arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Probabilities: between 0 and 1, away from 0."""
    for name in ("X", "Y"):
        if name in arrays:
            arrays[name][...] = (0.05 + 0.9 / (1 + np.abs(arrays[name].astype(np.float64)))).astype(arrays[name].dtype)


def _rows(knobs: Knobs) -> list[Step]:
    held_, walked_ = held("rowreduce", "rowreduce", knobs), walked("rowreduce", "rowreduce_long", knobs)
    return [*held_[::3], *walked_[::3]]


def _middle() -> tuple[Case, ...]:
    """Every operation; columns beside a multiple of 256 and of 4, K beside a multiple of the 16 rows of a step."""
    shapes = [(1, 1), (3, 2), (15, 255), (16, 256), (17, 257), (31, 511), (32, 512), (33, 513), (40, 4), (5, 700)]
    some = {"DTYPE": "bf16", "WIDTH": 8, "WAVES": 2, "DEPTH": 2}
    return (
        *(
            one("reduce_axis", {"OP": op, "WIDTH": 4}, A=1 + number % 3, K=k, C=c)
            for number, (k, c) in enumerate(shapes)
            for op in ("sum", "mean", "max", "min")
        ),
        *(one("reduce_axis", {"OP": "max", **some}, A=2, K=k, C=c) for k, c in ((4, 256), (5, 260), (3, 1020))),
    )


def _loss(kernel: str, knobs: Knobs) -> tuple[Case, ...]:
    """A launch for the rows, one for their mean: rows beside a multiple of four and of 1024."""
    cases = [(s, step("to_scalar", "to_scalar", {}, M=s.sizes["M"])) for s in only_walked("loss", kernel, knobs)]
    more = [
        (step("loss", kernel, {**LARGE, **knobs, "WIDTH": 4}, M=m, N=5), step("to_scalar", "to_scalar", {}, M=m))
        for m in (1023, 1024, 1025)
    ]
    return (*cases, *more)


def _cross_entropy() -> tuple[Case, ...]:
    """Rows held and rows walked, targets of both types, then the mean."""
    rows = [
        *held("cross_entropy", "cross_entropy", {})[::2],
        *held("cross_entropy", "cross_entropy", {"INDEX": "i32"})[1::2],
        *walked("cross_entropy", "cross_entropy_long", {})[::2],
        *walked("cross_entropy", "cross_entropy_long", {"INDEX": "i32"})[1::2],
    ]
    return tuple((s, step("to_scalar", "to_scalar", {}, M=s.sizes["M"])) for s in rows)


M, N = 32768, 8192
BYTES = 4 * M * N
CLASSES = 4096


def _large(kernel: str, knobs: Knobs) -> Case:
    return (step("loss", kernel, {**LARGE, **knobs}, M=M, N=N), step("to_scalar", "to_scalar", {}, M=M))


REDUCTIONS = (
    Template(
        "row sum, mean, max, min",
        alone([s for op in OVER for s in _rows({"OP": op})]),
        (step("rowreduce", "rowreduce", {**LARGE, "OP": "min", "WAVES": 4, "CHUNKS": 8}, M=M, N=N),),
        row_reduced,
        moved=BYTES,
    ),
    Template(
        "column or middle sum, mean, max, min",
        _middle(),
        one("reduce_axis", {"OP": "sum"}, A=128, K=1024, C=4096),
        middle_reduced,
        moved=4 * 128 * 1024 * 4096,
    ),
    Template(
        "logsumexp",
        alone([*held("logsumexp", "logsumexp", {}), *walked("logsumexp", "logsumexp_long", {})]),
        (step("logsumexp", "logsumexp", {**LARGE, "CHUNKS": 8}, M=M, N=N),),
        logsumexp,
        moved=BYTES,
    ),
    Template(
        "log-softmax",
        alone([*held("logsumexp", "log_softmax", {}), *walked("logsumexp", "log_softmax_long", {})]),
        (step("logsumexp", "log_softmax", {**LARGE, "CHUNKS": 8}, M=M, N=N),),
        log_softmax,
        moved=2 * BYTES,
    ),
    Template("MSE", _loss("loss_rows", {"TERM": "mse"}), _large("loss_rows", {"TERM": "mse"}), mse, 2 * BYTES),
    Template("Huber", _loss("loss_rows", {"TERM": "huber"}), _large("loss_rows", {"TERM": "huber"}), huber, 2 * BYTES),
    Template(
        "hinge",
        _loss("loss_rows", {"TERM": "hinge", "SHARED": True}),
        _large("loss_rows", {"TERM": "hinge", "SHARED": True}),
        hinge,
        BYTES,
    ),
    Template(
        "KL divergence",
        _loss("loss_rows", {"TERM": "kl"}),
        _large("loss_rows", {"TERM": "kl"}),
        kl,
        2 * BYTES,
        draw=positive,
    ),
    Template("cosine", _loss("cosine_rows", {}), _large("cosine_rows", {}), cosine, 2 * BYTES),
    Template(
        "triplet", _loss("triplet_rows", {}), _large("triplet_rows", {"WAVES": 1, "CHUNKS": 1}), triplet, 3 * BYTES
    ),
    Template(
        "cross entropy",
        _cross_entropy(),
        (
            step("cross_entropy", "cross_entropy", {**LARGE, "CHUNKS": 4}, M=M, N=CLASSES),
            step("to_scalar", "to_scalar", {}, M=M),
        ),
        cross_entropy,
        4 * M * CLASSES + 8 * M,
    ),
)
