"""Parameter sets of the scans, and their definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.ir.kernel import KnobValue
from bench.templates.rows import Knobs
from bench.templates.template import Case, Floats, Template, step

Array = npt.NDArray[np.float64]
Symbols = Mapping[str, float]
Settings = Mapping[str, KnobValue]

NEUTRAL = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}
JOIN: dict[str, np.ufunc] = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
WAYS: tuple[Knobs, ...] = tuple({"EXCLUSIVE": e, "REVERSE": r} for e in (False, True) for r in (False, True))


def scanned(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    """Along axis 1: flipped, shifted and flipped back where the knobs say so."""
    op = str(knobs["OP"])
    x = given["X"] * given["mask"] if "mask" in given else given["X"]
    x = np.flip(x, 1) if knobs["REVERSE"] else x
    y = JOIN[op].accumulate(x, axis=1)
    if knobs["EXCLUSIVE"]:
        y = np.concatenate([np.full_like(y[:, :1], NEUTRAL[op]), y[:, :-1]], axis=1)
    return np.asarray(np.flip(y, 1) if knobs["REVERSE"] else y)


def bits(arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Masks are zeros and ones."""
    if "mask" in arrays:
        arrays["mask"][...] = arrays["mask"] % 2


def near_one(arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Factors of both signs near one: products of a row neither grow nor vanish."""
    x = arrays["X"].astype(np.float64)
    arrays["X"][...] = (np.sign(x) * (1 + np.tanh(x) / 8)).astype(arrays["X"].dtype)


LENGTHS = (1, 2, 3, 5, 63, 64, 65, 255, 256, 257, 513, 700)
"""Rows beside lanes, vectors and pieces of 256."""
ONE_PIECE: Knobs = {"CHUNKS": 1, "WIDTH": 4}


def _rows(kernel: str, ops: tuple[str, ...]) -> tuple[Case, ...]:
    plain = [
        (step("scan", kernel, {**ONE_PIECE, **way, "OP": op}, M=1 + (n + number) % 6, N=n),)
        for number, way in enumerate(WAYS)
        for op in ops
        for n in LENGTHS
        if n > 1 or op in ("sum", "prod") or not way["EXCLUSIVE"]  # no maximum of nothing is finite
    ]
    wide = [
        (step("scan", kernel, {"DTYPE": dtype, "CHUNKS": chunks, "WIDTH": width, "OP": ops[0]}, M=3, N=width * count),)
        for dtype, chunks, width, count in (("bf16", 2, 16, 129), ("f16", 1, 2, 1023), ("f32", 4, 16, 140))
    ]
    return (*plain, *wide)


def _columns() -> tuple[Case, ...]:
    """K beside the 8 rows of a step, and a multiple of it where maxima come from the end."""
    shapes = [(2, 1), (7, 255), (8, 256), (9, 257), (17, 3), (40, 300)]
    return tuple(
        (step("scan", "scan_axis", {**way, "OP": op}, A=1 + number % 3, K=8 * k if by_eight else k, C=c),)
        for number, (k, c) in enumerate(shapes)
        for way in WAYS
        for op in ("sum", "max")
        for by_eight in (bool(way["REVERSE"]) and op == "max",)
    )


M, N = 8192, 32768
A, K, C = 16, 1024, 16384

SCANS = (
    Template(
        "cumulative sum: exclusive, from the end",
        _rows("scan", ("sum",)),
        (step("scan", "scan", {}, M=M, N=N),),
        scanned,
        moved=2 * 4 * M * N,
    ),
    Template(
        "cumulative product",
        _rows("scan", ("prod",)),
        (step("scan", "scan", {"OP": "prod"}, M=M, N=N),),
        scanned,
        moved=2 * 4 * M * N,
        draw=near_one,
    ),
    Template(
        "cumulative max, min",
        _rows("scan", ("max", "min")),
        (step("scan", "scan", {"OP": "max"}, M=M, N=N),),
        scanned,
        moved=2 * 4 * M * N,
    ),
    Template(
        "masked cumulative sum",
        _rows("scan_masked", ("sum",)),
        (step("scan", "scan_masked", {}, M=M, N=N),),
        scanned,
        moved=9 * M * N,
        draw=bits,
    ),
    Template(
        "cumulative sum, max over the middle axis",
        _columns(),
        (step("scan", "scan_axis", {}, A=A, K=K, C=C),),
        scanned,
        moved=2 * 4 * A * K * C,
    ),
)
