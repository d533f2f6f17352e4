"""Parameter sets of reductions after a chain, softmax over a middle axis and short rows, and their definitions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from argus.ir.kernel import KnobValue
from bench.templates.chains import Knobs, chained
from bench.templates.reductions import OVER
from bench.templates.rows import LARGE
from bench.templates.template import Case, Floats, Template, one, step

Array = npt.NDArray[np.float64]
Symbols = Mapping[str, float]
Settings = Mapping[str, KnobValue]

SQUARED: Knobs = {"S0": "sub_U", "S1": "square"}
GATED: Knobs = {"S0": "mul_U", "S1": "save", "S2": "sigmoid", "S3": "mul_saved", "S4": "add_V", "S5": "mul_W"}


def rows_reduced(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    m, n = given["X"].shape
    shapes = {"one": (1, 1), "m": (m, 1), "n": (1, n), "mn": (m, n)}
    return np.asarray(OVER[str(knobs["OP"])](chained(given["X"], given, symbols, knobs, shapes), axis=1))


def middle_reduced(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    a, k, c = given["X"].shape
    shapes = {"one": (1, 1, 1), "c": (1, 1, c), "ac": (a, 1, c), "akc": (a, k, c)}
    return np.asarray(OVER[str(knobs["OP"])](chained(given["X"], given, symbols, knobs, shapes), axis=1))


def middle_softmax(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.asarray(np.exp(given["X"] - np.logaddexp.reduce(given["X"], axis=1, keepdims=True)))


def middle_logsumexp(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.asarray(np.logaddexp.reduce(given["X"], axis=1))


def short_norm(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    off = given["X"] - given["X"].mean(1, keepdims=True)
    return np.asarray(off / np.sqrt((off * off).mean(1, keepdims=True) + symbols["eps"]) * given["W"] + given["B"])


LENGTHS = (1, 2, 255, 256, 257, 511, 512, 513, 1025)
"""Beside the pieces of a row that a wave walks."""
COLUMNS = ((1, 1), (3, 2), (15, 255), (16, 256), (17, 257), (33, 513), (5, 700), (2, 64), (31, 3), (32, 65))
"""K and C beside the rows of a step and the columns of a workgroup."""


def _rows() -> tuple[Case, ...]:
    """Every operation and every kind of operand; rows beside a multiple of four."""
    wave: Knobs = {"DTYPE": "f32", "WAVES": 1, "CHUNKS": 1, "WIDTH": 4}
    four: Knobs = {**wave, "WAVES": 4}
    kinds = ({"HAS_U": kind} for kind in ("mn", "n", "m", "one"))
    plain = [
        one("chain_rows", {**wave, **SQUARED, **kind, "OP": op}, M=5, N=300)
        for kind in kinds
        for op in ("sum", "mean", "max", "min")
    ]
    gated: Knobs = {**GATED, "HAS_U": "n", "HAS_V": "mn", "HAS_W": "m"}
    lengths = [one("chain_rows", {**wave, **SQUARED, "HAS_U": "mn"}, M=1 + n % 5, N=n) for n in LENGTHS]
    several = [one("chain_rows", {**four, **gated, "OP": "mean"}, M=2, N=n) for n in (1, 1023, 1024, 1025, 2049)]
    few = [one("chain_rows", {**wave, **gated, "OP": "max"}, M=m, N=n) for m in (1, 3, 4, 8) for n in (63, 64, 65)]
    narrow = [one("chain_rows", {"DTYPE": "bf16", "WIDTH": 16, "RESULT": "bf16", **SQUARED, "HAS_U": "n"}, M=3, N=520)]
    return (*plain, *lengths, *several, *few, *narrow)


def _middle() -> tuple[Case, ...]:
    plain = [
        one("chain_axis", {**SQUARED, "HAS_U": kind, "OP": op, "WIDTH": 4}, A=1 + number % 3, K=k, C=c)
        for number, (k, c) in enumerate(COLUMNS)
        for kind, op in (("akc", "sum"), ("c", "mean"), ("ac", "max"), ("one", "min"))
    ]
    gated: Knobs = {**GATED, "HAS_U": "c", "HAS_V": "akc", "HAS_W": "ac", "WIDTH": 4}
    narrow: Knobs = {"DTYPE": "bf16", "WIDTH": 8, "RESULT": "bf16", **SQUARED, "HAS_U": "c"}
    return (*plain, one("chain_axis", gated, A=2, K=19, C=270), one("chain_axis", narrow, A=2, K=37, C=260))


def _softmax(kernel: str) -> tuple[Case, ...]:
    """Columns beside a multiple of 256, K up to what registers hold."""
    shapes = [(k, c) for k in (1, 2, 9, 13, 15, 16) for c in (1, 3, 255, 256, 257, 513)]
    plain = [
        (step("axissoftmax", kernel, {"WIDTH": 4}, A=1 + number % 3, K=k, C=c),) for number, (k, c) in enumerate(shapes)
    ]
    deep = [(step("axissoftmax", kernel, {"WIDTH": 4, "DEPTH": 32}, A=2, K=k, C=70),) for k in (65, 127, 128)]
    narrow = (step("axissoftmax", kernel, {"DTYPE": "bf16", "WIDTH": 8, "DEPTH": 2}, A=2, K=7, C=260),)
    return (*plain, *deep, narrow)


def _short() -> tuple[Case, ...]:
    """Rows up to what a part of a wave holds, as many as a workgroup has and beside that."""
    found = []
    for lanes in (2, 4, 8, 16, 32):
        knobs: Knobs = {"DTYPE": "f32", "LANES": lanes, "WIDTH": 4}
        for n in sorted({1, 2, 3, lanes, lanes + 1, 2 * lanes, 3 * lanes - 1, 4 * lanes - 2, 4 * lanes - 1, 4 * lanes}):
            found.append((step("short_rows", "short_layernorm", knobs, M=256 // lanes + n % 3 - 1, N=n),))
    narrow: Knobs = {"DTYPE": "bf16", "LANES": 2, "WIDTH": 16}
    return (*found, (step("short_rows", "short_layernorm", narrow, M=300, N=16),))


M, N = 32768, 8192
BYTES = 4 * M * N

FUSED_REDUCTIONS = (
    Template(
        "rows reduced after a chain",
        _rows(),
        one("chain_rows", {**LARGE, **SQUARED, "HAS_U": "mn", "OP": "mean"}, M=M, N=N),
        rows_reduced,
        moved=2 * BYTES,
    ),
    Template(
        "middle axis reduced after a chain",
        _middle(),
        one("chain_axis", {**SQUARED, "HAS_U": "c", "OP": "mean"}, A=128, K=1024, C=4096),
        middle_reduced,
        moved=4 * 128 * 1024 * 4096,
    ),
    Template(
        "softmax over the middle axis",
        _softmax("softmax_axis"),
        (step("axissoftmax", "softmax_axis", {"DEPTH": 16}, A=16, K=64, C=262144),),
        middle_softmax,
        moved=8 * 16 * 64 * 262144,
    ),
    Template(
        "logsumexp over the middle axis",
        _softmax("logsumexp_axis"),
        (step("axissoftmax", "logsumexp_axis", {"DEPTH": 16}, A=16, K=64, C=262144),),
        middle_logsumexp,
        moved=4 * 16 * 64 * 262144,
    ),
    Template(
        "layer norm of short rows",
        _short(),
        (step("short_rows", "short_layernorm", {"LANES": 8}, M=4194304, N=64),),
        short_norm,
        moved=4 * 4194304 * 64,
    ),
)
