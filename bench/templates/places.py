"""Parameter sets of the places of extremes, and their definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.ir.kernel import KnobValue
from bench.templates.rows import Knobs
from bench.templates.template import Case, Floats, Template, step

Array = npt.NDArray[np.float64]


def first_place(given: Floats, symbols: Mapping[str, float], knobs: Mapping[str, KnobValue]) -> Array:
    """Of axis 1, counted element by element: on ties the first."""
    x = given["X"] if knobs["OP"] == "max" else -given["X"]
    place, best = np.zeros((x.shape[0], *x.shape[2:])), x[:, 0].copy()
    for n in range(1, x.shape[1]):
        place = np.where(x[:, n] > best, n, place)
        best = np.maximum(best, x[:, n])
    return place


def with_ties(arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Numbers rounded to quarters, so that extremes are met several times."""
    arrays["X"][...] = (np.round(4 * arrays["X"].astype(np.float64)) / 4).astype(arrays["X"].dtype)


HELD = (1, 2, 3, 5, 63, 64, 65, 127, 255, 256)
WALKED = (1, 255, 256, 257, 511, 512, 513, 700)
SHAPES = [(8, 1), (8, 255), (16, 256), (24, 257), (40, 300), (64, 3)]
SMALL: Knobs = {"CHUNKS": 1, "WIDTH": 4}


def _rows() -> tuple[Case, ...]:
    both = [
        (step("argreduce", kernel, {**SMALL, "OP": op, "PLACE": place}, M=1 + n % 6, N=n),)
        for kernel, lengths in (("argrow", HELD), ("argrow_long", WALKED))
        for op, place in (("max", "i64"), ("min", "i32"))
        for n in lengths
    ]
    narrow = [
        (step("argreduce", kernel, {"DTYPE": dtype, "CHUNKS": 1}, M=3, N=n),)
        for kernel, n in (("argrow", 488), ("argrow_long", 1000))
        for dtype in ("bf16", "f16")
    ]
    return (*both, *narrow)


def _columns() -> tuple[Case, ...]:
    plain = [
        (step("argreduce", "argaxis", {"OP": op, "PLACE": place}, A=1 + number % 3, K=k, C=c),)
        for number, (k, c) in enumerate(SHAPES)
        for op in ("max", "min")
        for place in ("i32", "i64")
    ]
    single = [
        (step("argreduce", "argaxis", {"OP": op, "DEPTH": 1, "DTYPE": dtype}, A=2, K=k, C=70),)
        for k in (1, 2, 7, 9)
        for op, dtype in (("max", "f32"), ("min", "bf16"))
    ]
    deep = [(step("argreduce", "argaxis", {"DEPTH": d}, A=1, K=d * n, C=100),) for d in (2, 4) for n in (1, 2, 3, 5)]
    return (*plain, *single, *deep)


M, N = 65536, 1024
A, K, C = 16, 4096, 4095

PLACES = (
    Template(
        "argmax, argmin of rows",
        _rows(),
        (step("argreduce", "argrow", {"CHUNKS": 4}, M=M, N=N),),
        first_place,
        moved=4 * M * N + 8 * M,
        draw=with_ties,
    ),
    Template(
        "argmax, argmin over the middle axis",
        _columns(),
        (step("argreduce", "argaxis", {}, A=A, K=K, C=C),),
        first_place,
        moved=4 * A * K * C + 8 * A * C,
        draw=with_ties,
    ),
)
