"""Library and naive kernels at small knobs, with their meaning in numpy: material for mutants beside generated ones.

Knobs are the smallest that keep what a kernel is about (two waves in a row, one chunk). Attention and the MoE layers
are left to `bench.checker_mutants`: one check of them costs as much as fifty of these.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import argus.kernels
import argus.tasks.naive
from bench.verdict_fuzz import bounded
from bench.verdict_fuzz.bounded import Real, call, given, spread, total
from bench.verdict_fuzz.program import Arrays, Generated, Meaning, Sizes

LIBRARY = Path(argus.kernels.__file__).parent
NAIVE = Path(argus.tasks.naive.__file__).parent
EPS = 1e-5


def _real(arrays: Arrays, name: str) -> Real:
    return given(arrays[name].astype(np.float64))


def softmax(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
    x = _real(arrays, "X")
    shifted = call("sub", x, spread(bounded.largest(x, 1), 1))
    grown = Real(shifted.value, shifted.error + 4 * bounded.ROUNDING * np.abs(shifted.value))
    e = call("exp", grown)
    return {"Y": call("div", e, spread(total(e, 1), 1))}


def rmsnorm(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
    x, w = _real(arrays, "X"), _real(arrays, "W")
    mean = call("div", total(call("mul", x, x), 1), given(np.float64(sizes["N"])))
    scale = call("rsqrt", call("add", mean, given(np.float64(np.float32(EPS)))))
    return {"Y": call("mul", call("mul", x, spread(scale, 1)), w)}


def layernorm(arrays: Arrays, sizes: Sizes, gain: str = "W") -> dict[str, Real]:
    x, w, b = _real(arrays, "X"), _real(arrays, gain), _real(arrays, "B")
    n = given(np.float64(sizes["N"]))
    off = call("sub", x, spread(call("div", total(x, 1), n), 1))
    variance = call("div", total(call("mul", off, off), 1), n)
    scale = call("rsqrt", call("add", variance, given(np.float64(np.float32(EPS)))))
    return {"Y": call("add", call("mul", call("mul", off, spread(scale, 1)), w), b)}


def rowreduce(op: str) -> Meaning:
    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x = _real(arrays, "X")
        if op == "max":
            return {"Y": bounded.largest(x, 1)}
        s = total(x, 1)
        return {"Y": call("div", s, given(np.float64(sizes["N"]))) if op == "mean" else s}

    return meaning


def matmul(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
    a, b = (arrays[n].astype(np.float64) for n in "AB")
    size = np.abs(a) @ np.abs(b).T
    error = size * bounded.ROUNDING * (sizes["K"] + 4) + 64 * bounded.TINY
    return {"C": Real(a @ b.T, np.where(size > bounded.LARGEST, np.inf, error))}


def transpose(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
    return {"Y": given(arrays["X"].astype(np.float64).T)}


def binary(op: str) -> Meaning:
    return lambda arrays, sizes: {"z": call(op, _real(arrays, "x"), _real(arrays, "y"))}


def unary(act: str) -> Meaning:
    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x = _real(arrays, "x")
        if act == "relu":
            return {"z": call("max", x, given(np.float64(0)))}
        arg = x
        if act == "gelu":
            cube = call("mul", call("mul", x, x), x)
            arg = call(
                "mul",
                call("add", x, call("mul", cube, bounded.constant(0.044715))),
                bounded.constant(1.5957691216057308),
            )
        arg = Real(arg.value, arg.error + 4 * bounded.ROUNDING * np.abs(arg.value))
        return {"z": call("mul", x, call("sigmoid", arg))}

    return meaning


def _row_sizes(span: int, least: int) -> tuple[dict[str, int], ...]:
    return tuple({"M": m, "N": n} for m, n in ((1, span), (5, span - least), (3, least), (2, span // 2)))


def _rows(dice: Random, file: str, name: str, meaning: Meaning, settings: dict[str, Any]) -> Generated:
    kind = dice.choice(("f32", "bf16", "f16"))
    waves = dice.choice((1, 1, 2))
    width = dice.choice((16, 8, 4))
    size = 4 if kind == "f32" else 2
    span = 64 * waves * (16 // size)
    knobs = {"DTYPE": kind, "WAVES": waves, "CHUNKS": 1, "WIDTH": width, **settings}
    sizes = _row_sizes(span, width // size)
    if name.endswith("_long"):
        sizes = tuple({"M": m, "N": n} for m, n in ((1, span), (2, 2 * span - width // size), (1, width // size)))
    scalars = {"eps": EPS} if "norm" in name else {}
    return _kept(LIBRARY / file, name, sizes, meaning, knobs, scalars, "library")


def _kept(
    path: Path, name: str, sizes: tuple[dict[str, int], ...], meaning: Meaning, knobs: dict[str, Any],
    scalars: dict[str, float], family: str,
) -> Generated:  # fmt: skip
    return Generated(
        family, path.read_text(), (family, f"{path.stem}.{name}"), sizes, meaning, scalars, kernel=name, settings=knobs
    )


def library(dice: Random) -> Generated:
    """One kernel of the library, at small knobs."""
    op, act = dice.choice(("sum", "mean", "max")), dice.choice(("relu", "silu", "gelu"))
    flat = tuple({"N": n} for n in (1024, 1032, 1016, 8, 2056))
    makers: list[Callable[[], Generated]] = [
        lambda: _rows(dice, "softmax.py", "softmax", softmax, {}),
        lambda: _rows(dice, "softmax.py", "softmax_long", softmax, {}),
        lambda: _rows(dice, "rmsnorm.py", "rmsnorm", rmsnorm, {}),
        lambda: _rows(dice, "rmsnorm.py", "rmsnorm_long", rmsnorm, {}),
        lambda: _rows(dice, "layernorm.py", "layernorm", layernorm, {}),
        lambda: _rows(dice, "layernorm.py", "layernorm_long", layernorm, {}),
        lambda: _rows(dice, "rowreduce.py", "rowreduce", rowreduce(op), {"OP": op}),
        lambda: _rows(dice, "rowreduce.py", "rowreduce_long", rowreduce(op), {"OP": op}),
        lambda: _kept(LIBRARY / "vadd.py", "vadd", flat, lambda a, s: {
            "z": call("add", _real(a, "x"), _real(a, "y"))}, {"PER_THREAD": dice.choice((1, 2, 4))}, {}, "library"),
        lambda: _kept(LIBRARY / "elementwise.py", "binary", flat, binary("mul"),
                      {"OP": "mul", "CHUNKS": 1, "DTYPE": dice.choice(("f32", "bf16"))}, {}, "library"),
        lambda: _kept(LIBRARY / "elementwise.py", "unary", flat, unary(act),
                      {"ACT": act, "CHUNKS": 1, "DTYPE": dice.choice(("f32", "f16"))}, {}, "library"),
        lambda: _kept(LIBRARY / "transpose.py", "transpose",
                      tuple({"M": m, "N": n} for m, n in ((32, 128), (40, 136), (8, 8), (64, 264))), transpose,
                      {"DTYPE": dice.choice(("f32", "bf16"))}, {}, "library"),
        lambda: _kept(LIBRARY / "gemm.py", "gemm", ({"M": 64, "N": 128, "K": 64}, {"M": 64, "N": 64, "K": 192}), matmul,
                      {"BM": 64, "BN": 64}, {}, "library"),
    ]  # fmt: skip
    return dice.choice(makers)()


def naive(dice: Random) -> Generated:
    """One naive kernel of a task."""
    rows = tuple({"M": m, "N": n} for m, n in ((1, 64), (2, 128), (3, 256)))
    makers: list[Callable[[], Generated]] = [
        lambda: _kept(NAIVE / "gemm.py", "gemm", tuple({"M": m, "N": n, "K": k} for m, n, k in (
            (32, 32, 8), (64, 32, 16), (32, 64, 40))), matmul, {}, {}, "naive"),
        lambda: _kept(NAIVE / "softmax.py", "softmax", rows, softmax, {}, {}, "naive"),
        lambda: _kept(NAIVE / "layernorm.py", "layernorm", rows, lambda a, s: layernorm(a, s, "G"), {}, {"eps": EPS},
                      "naive"),
    ]  # fmt: skip
    return dice.choice(makers)()
