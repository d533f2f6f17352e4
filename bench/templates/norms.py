"""Parameter sets of the normalizations, and their definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.ir.kernel import KnobValue
from bench.templates.chains import chained
from bench.templates.rows import FOUR, LARGE, WAVE, Knobs, alone, held, only_walked, walked
from bench.templates.template import Case, Floats, Step, Template, one, step

Array = npt.NDArray[np.float64]
Symbols = Mapping[str, float]
Settings = Mapping[str, KnobValue]


def row_l1(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.asarray(given["X"] / np.mean(np.abs(given["X"]), axis=1, keepdims=True))


def row_l2(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.asarray(given["X"] / np.linalg.norm(given["X"], axis=1, keepdims=True))


def frobenius(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.asarray(given["X"] / np.linalg.norm(given["X"]))


def _normalized(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    off = x - x.mean(axes, keepdims=True)
    return np.asarray(off / np.sqrt((off * off).mean(axes, keepdims=True) + eps))


def batch(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    shape = (1, -1, 1)
    y = _normalized(given["X"], (0, 2), symbols["eps"])
    return np.asarray(y * given["W"].reshape(shape) + given["bias"].reshape(shape))


def columns(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    """Batch norm of a matrix, and the chain after it."""
    x = given["X"].reshape(int(symbols["B"]), int(symbols["C"]))
    y = _normalized(x, (0,), symbols["eps"]) * given["weight"] + given["shift"]
    return chained(y, given, symbols, knobs, {"c": (1, x.shape[1]), "b": (x.shape[0], 1), "bc": x.shape})


def group(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    y = _normalized(given["X"], (2, 3), symbols["eps"])
    return np.asarray(y * given["W"][None, :, :, None] + given["bias"][None, :, :, None])


def whole(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.asarray(_normalized(given["X"], (1, 2), symbols["eps"]) * given["W"] + given["bias"])


def over_axis(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    x = given["X"]
    if knobs["NORM"] == "l1":
        return np.asarray(x / np.mean(np.abs(x), axis=1, keepdims=True))
    if knobs["NORM"] == "l2":
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
    return np.asarray(x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + symbols["eps"]))


def inference(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    mean, variance, weight, bias = (given[name].reshape(1, -1, 1) for name in ("M", "V", "W", "bias"))
    return np.asarray((given["X"] - mean) / np.sqrt(variance + symbols["eps"]) * weight + bias)


def positive(arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Variances are not negative."""
    if "V" in arrays:
        arrays["V"][...] = np.abs(arrays["V"])


PIECES = (1, 3, 255, 256, 257, 1023, 1024, 1025, 2049, 2050)
"""Elements of a channel: beside the pieces of 1024 that a workgroup normalizes."""
PARTS: dict[int, tuple[int, Knobs]] = {1023: (33, {}), 2050: (205, {"HELD": 4})}
"""Channels whose statistics are made of so many pieces."""


def _moments(rows: int, length: int) -> Case:
    """Statistics of channels: short ones held by a wave or four; long ones walked, or held in pieces."""
    if length <= 256:
        return (step("moments", "moments", WAVE, M=rows, N=length),)
    if length in PARTS:
        pieces, joined = PARTS[length]
        return _pieces(WAVE, joined, rows, length // pieces, pieces)
    if length <= 1024:
        return (step("moments", "moments", FOUR, M=rows, N=length),)
    return (step("moments", "moments_long", FOUR, M=rows, N=length),)


def _pieces(held: Knobs, joined: Knobs, rows: int, length: int, pieces: int) -> Case:
    """Statistics of `pieces` of each row, then of the row."""
    return (
        step("moments", "moments", held, M=rows * pieces, N=length),
        step(
            "moments",
            "joined",
            joined,
            takes={"means": "mean", "devs": "dev"},
            numbers={"length": length},
            M=rows,
            P=pieces,
        ),
    )


SMALL: Knobs = {"CHUNKS": 1, "WIDTH": 4, "HELD": 1}


def _batch() -> tuple[Case, ...]:
    images = (1, 2, 5, 63, 64)
    return tuple(
        (*_moments(b * c, s), step("normalize", "batch", SMALL, B=b, C=c, S=s))
        for number, s in enumerate(PIECES)
        for b in images
        for c in (1 + (number + b) % 3,)
    )


def _columns(pieces: int, length: int, wide: int, plain: Knobs, chain: Knobs) -> Case:
    """Moments of pieces of rows, those of the columns, then the matrix."""
    taken, numbers = {"means": "mean", "devs": "dev"}, {"length": length}
    return (
        step("column_norm", "column_moments", plain, A=pieces, K=length, C=wide),
        step("column_norm", "column_joined", plain, takes=taken, numbers=numbers, P=pieces, C=wide),
        step("column_norm", "column_norm", {**plain, **chain}, B=pieces * length, C=wide),
    )


def _matrix() -> tuple[Case, ...]:
    """Pieces beside the 16 rows of a step, columns beside the 256 and 1024 of a workgroup; chains of every kind."""
    rows = [(1, 2), (1, 15), (2, 8), (3, 17), (17, 3), (2, 33), (16, 16), (31, 1)]
    wide = (1, 3, 255, 257, 1025)
    narrow: Knobs = {"WIDTH": 4}
    kinds = ("one", "c", "b", "bc")
    plain = [_columns(a, k, c, narrow, {"ROWS": 2}) for a, k in rows for c in wide]
    after = [_columns(3, 5, 70, narrow, {"S0": "add_U", "S1": "gelu", "HAS_U": kind}) for kind in kinds]
    return (*plain, *after, _columns(2, 9, 260, {"DTYPE": "bf16", "WIDTH": 8}, {"S0": "relu"}))


def _group() -> tuple[Case, ...]:
    return tuple(
        (*_moments(b * g * k, s), step("normalize", "group", SMALL, B=b, G=g, K=k, S=s))
        for number, s in enumerate(PIECES)
        for b, g, k in ((1, 1, 2), (2, 3, 4), (1, 2, 5 + number), (1, 1, 63), (1, 1, 64))
    )


def _instance() -> tuple[Case, ...]:
    return tuple(
        (*_moments(b * g, s), step("normalize", "group", SMALL, B=b, G=g, K=1, S=s))
        for s in PIECES
        for b, g in ((1, 1), (1, 2), (2, 1), (2, 3), (3, 4))
    )


def _whole() -> tuple[Case, ...]:
    return tuple(
        (*_moments(b * k, s), step("normalize", "whole", SMALL, B=b, K=k, S=s))
        for number, s in enumerate(PIECES)
        for b, k in ((1, 1), (2, 3), (3, 5 + number), (1, 63), (1, 64))
    )


def _over_axis() -> tuple[Case, ...]:
    """Columns beside a multiple of 256, K beside a multiple of the 16 rows of a step."""
    shapes = [(1, 1), (3, 2), (15, 255), (16, 256), (17, 257), (31, 511), (32, 512), (33, 513), (40, 4), (5, 700)]
    plain = [
        (step("axisnorm", "axisnorm_long", {"NORM": norm, "WIDTH": 4}, A=1 + number % 3, K=k, C=c),)
        for number, (k, c) in enumerate([*shapes, (64, 36)])
        for norm in ("rms", "l2", "l1")
    ]
    held_ = [one("axisnorm", {"WIDTH": 4}, A=2, K=k, C=c) for k in (1, 3, 4, 5, 15, 16) for c in (255, 257)]
    return (*plain, *held_, one("axisnorm", {"DTYPE": "bf16", "WIDTH": 8, "DEPTH": 2}, A=2, K=7, C=260))


def _inference() -> tuple[Case, ...]:
    return tuple(
        (step("normalize", "inference", SMALL, B=b, C=c, S=s),)
        for s in PIECES
        for b, c in ((1, 1), (1, 3), (2, 1), (2, 5), (3, 4))
    )


def _frobenius(rows: Step) -> Case:
    sizes = {"M": rows.sizes["M"], "N": rows.sizes["N"]}
    total = step("to_scalar", "to_scalar", {"OP": "sum"}, M=sizes["M"])
    return rows, total, step("rownorm", "scaled", dict(rows.knobs), **sizes)


M, N = 32768, 8192
BYTES = 4 * M * N
IMAGES, CHANNELS, PIXELS = 16, 64, 512 * 512
VOLUME = 4 * IMAGES * CHANNELS * PIXELS
ROWS: Knobs = {**LARGE, "CHUNKS": 1}
PIECE = 8192
LARGE_STATISTICS = _pieces({**LARGE, "CHUNKS": 8, "EXACT": True}, {}, IMAGES * CHANNELS, PIECE, PIXELS // PIECE)

NORMS = (
    Template(
        "RMS, L2, L1 norm over the middle axis",
        _over_axis(),
        one("axisnorm", {"DEPTH": 16}, A=IMAGES, K=CHANNELS, C=PIXELS),
        over_axis,
        moved=2 * VOLUME,
    ),
    Template(
        "layer norm of images",
        _whole(),
        (*LARGE_STATISTICS, step("normalize", "whole", {}, B=IMAGES, K=CHANNELS, S=PIXELS)),
        whole,
        moved=3 * VOLUME,
    ),
    Template(
        "L1 norm of rows",
        alone([*held("rownorm", "rownorm", {"NORM": "l1"}), *walked("rownorm", "rownorm_long", {"NORM": "l1"})]),
        (step("rownorm", "rownorm", {**LARGE, "CHUNKS": 8, "NORM": "l1"}, M=M, N=N),),
        row_l1,
        moved=2 * BYTES,
    ),
    Template(
        "L2 norm of rows",
        alone([*held("rownorm", "rownorm", {}), *walked("rownorm", "rownorm_long", {})]),
        (step("rownorm", "rownorm", {**LARGE, "CHUNKS": 8}, M=M, N=N),),
        row_l2,
        moved=2 * BYTES,
    ),
    Template(
        "Frobenius norm",
        tuple(_frobenius(s) for s in only_walked("rownorm", "squares", {})),
        _frobenius(step("rownorm", "squares", ROWS, M=M, N=N)),
        frobenius,
        moved=3 * BYTES,
    ),
    Template(
        "batch norm, training",
        _batch(),
        (*LARGE_STATISTICS, step("normalize", "batch", {}, B=IMAGES, C=CHANNELS, S=PIXELS)),
        batch,
        moved=3 * VOLUME,
    ),
    Template(
        "batch norm of a matrix",
        _matrix(),
        _columns(256, 64, 4096, {}, {}),
        columns,
        moved=3 * 4 * 16384 * 4096,
    ),
    Template(
        "batch norm, inference",
        _inference(),
        (step("normalize", "inference", {}, B=IMAGES, C=CHANNELS, S=PIXELS),),
        inference,
        moved=2 * VOLUME,
        draw=positive,
    ),
    Template(
        "group norm",
        _group(),
        (*LARGE_STATISTICS, step("normalize", "group", {}, B=IMAGES, G=8, K=CHANNELS // 8, S=PIXELS)),
        group,
        moved=3 * VOLUME,
    ),
    Template(
        "instance norm",
        _instance(),
        (*LARGE_STATISTICS, step("normalize", "group", {}, B=IMAGES, G=CHANNELS, K=1, S=PIXELS)),
        group,
        moved=3 * VOLUME,
    ),
)
