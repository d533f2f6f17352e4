"""Parameter sets of the matrix products in f32, and their definitions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from argus.ir.kernel import KnobValue
from bench.templates.maps import FUNCTIONS
from bench.templates.rows import LARGE, Knobs, alone, only_walked
from bench.templates.template import Case, Floats, Template, one, step

Array = npt.NDArray[np.float64]
Symbols = Mapping[str, float]
Settings = Mapping[str, KnobValue]


def product(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    a = given["A"].swapaxes(1, 2) if knobs["A_BY_K"] else given["A"]
    b = given["B"] if knobs["B_BY_K"] else given["B"].swapaxes(1, 2)
    c = a @ b + (given["U"] if knobs["HAS_U"] == "n" else 0.0)
    c = FUNCTIONS[str(knobs["S1"])](c, symbols["p1"])
    return np.asarray({"none": c, "lower": np.tril(c), "upper": np.triu(c)}[str(knobs["TRIANGLE"])])


def matvec(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.asarray(given["A"] @ given["x"])


def diagonal(given: Floats, symbols: Symbols, knobs: Settings) -> Array:
    return np.asarray((np.diag(given["scale"]) @ given["X"][0])[None])


SMALL: Knobs = {"BM": 64, "BN": 64, "WIDTH": 4}
BIAS: Knobs = {"S0": "add_U", "HAS_U": "n"}
EDGES = (1, 31, 33, 63, 64, 65, 127, 129)
"""Rows and columns beside matrix instruction tiles of 32 and blocks of 64."""
DEPTHS = (1, 2, 15, 16, 17, 33)
"""K beside the 16 of a step."""


def _plain() -> tuple[Case, ...]:
    stored = [{"A_BY_K": a, "B_BY_K": b} for a in (False, True) for b in (False, True)]
    edges = [
        one("gemm_f32", SMALL | stored[number % 4], Z=1, M=m, N=n, K=DEPTHS[number % 6])
        for number, (m, n) in enumerate((m, n) for m in EDGES for n in EDGES[m % 2 :: 2])
    ]
    wide = [
        one("gemm_f32", {**layout, "BM": 64, "BN": 128}, Z=1, M=68, N=132, K=k) for layout in stored for k in (4, 36)
    ]
    return (*edges, *wide)


def _batched() -> tuple[Case, ...]:
    return tuple(
        one("gemm_f32", SMALL | {"B_BY_K": b == 0}, Z=z, M=m, N=n, K=k)
        for number, (m, n) in enumerate(((1, 65), (64, 64), (63, 33), (65, 1), (70, 130)))
        for z in (1, 2, 3, 5)
        for b, k in ((0, DEPTHS[number]), (1, DEPTHS[5 - number]))
    )


def _triangular() -> tuple[Case, ...]:
    return tuple(
        one("gemm_f32", SMALL | {"TRIANGLE": side}, Z=1, M=n, N=n, K=k)
        for side in ("lower", "upper")
        for number, n in enumerate((1, 2, 31, 32, 33, 63, 64, 65, 127, 128))
        for k in (n, DEPTHS[number % 6] + 40)
    )


def _xf32() -> tuple[Case, ...]:
    """As `_plain`, and longer sums: their error is mostly that of the operands."""
    plain = [
        one("gemm_f32", {**dict(s.knobs), "XF32": True, "TRIANGLE": "lower" if n % 8 == 7 else "none"}, **s.sizes)
        for n, (s,) in enumerate(_plain())
    ]
    long = [
        one("gemm_f32", {"XF32": True, "BM": 64, "BN": 64, "B_BY_K": b}, Z=2, M=72, N=68, K=k)
        for b in (False, True)
        for k in (300, 1000)
    ]
    return (*plain, *long)


def _linear() -> tuple[Case, ...]:
    acts = [name for name in FUNCTIONS if name not in ("exp", "none")]
    return (
        *(
            one("gemm_f32", SMALL | {"B_BY_K": False, **BIAS, "S1": act}, Z=1, M=33, N=65 + n, K=17)
            for n, act in enumerate(acts)
        ),
        *(
            one("gemm_f32", SMALL | {"B_BY_K": False, **BIAS, "S1": "gelu"}, Z=1, M=m, N=n, K=k)
            for m, n in ((1, 1), (63, 64), (64, 63), (65, 127), (129, 65), (2, 130), (66, 66))
            for k in (1, 16, 17)
        ),
    )


def _diagonal() -> tuple[Case, ...]:
    return tuple(
        one("map_chain", {"FIRST": "none", "SCALE": True, "WIDTH": 4, "CHUNKS": 1}, A=1, B=b, C=c)
        for b in (1, 2, 3, 5)
        for c in (1, 2, 3, 4, 255, 256, 257, 1023, 1024, 1025)
    )


SIDE = 4096

PRODUCTS = (
    Template("f32 product", _plain(), one("gemm_f32", {}, Z=1, M=SIDE, N=SIDE, K=SIDE), product, bound="matrix"),
    Template(
        "f32 product, batched (3-D, 4-D)",
        _batched(),
        one("gemm_f32", {}, Z=128, M=512, N=2048, K=1024),
        product,
        bound="matrix",
    ),
    Template(
        "f32 product, triangular",
        _triangular(),
        one("gemm_f32", {"TRIANGLE": "lower"}, Z=1, M=SIDE, N=SIDE, K=SIDE),
        product,
        bound="matrix",
    ),
    Template(
        "f32 linear with activation",
        _linear(),
        one("gemm_f32", {"B_BY_K": False, **BIAS, "S1": "gelu"}, Z=1, M=1024, N=8192, K=8192),
        product,
        bound="matrix",
    ),
    Template(
        "f32 product, xf32 on request",
        _xf32(),
        one("gemm_f32", {"XF32": True, "BM": 256, "BN": 256, "WM": 4}, Z=1, M=SIDE, N=SIDE, K=SIDE),
        product,
        bound="matrix",
        derived=True,
    ),
    Template(
        "matrix times vector",
        alone(only_walked("matvec", "matvec", {})),
        (step("matvec", "matvec", {**LARGE, "CHUNKS": 4}, M=2048, N=131072),),
        matvec,
        moved=4 * 2048 * 131072,
    ),
    Template(
        "diagonal times matrix",
        _diagonal(),
        one("map_chain", {"FIRST": "none", "SCALE": True}, A=1, B=8192, C=8192),
        diagonal,
        moved=2 * 4 * 8192 * 8192,
    ),
)
