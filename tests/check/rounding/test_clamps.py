"""Bounds of clamps, of constants that a type does not have, and what rounding alone must not refute."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from argus.check import check
from argus.check.rounding import ErrorBound, rounding
from argus.ir.interp import run
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.spec import evaluate

SOURCE = """
import argus as ag
from argus import bf16, f32, f64

P = ag.Owner(lane=64, i="lane")


@ag.kernel(threads=64, requires="N >= 1", computes="z[i] = {spec}", example=dict(N=100))
def k(x: ag.In["N", {dtype}], z: ag.Out["N", {dtype}]):
    b = ag.grid(ag.cdiv(N, 64))
    v = x[64 * b].load(P, width={width})
    z[64 * b].store({stored}, width={width})
"""
TYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16}
CASES = {
    "hard sigmoid": (
        "f32", "minimum(maximum(x[i] * 0.2, -0.5), 0.5) + 0.5", "ag.min(ag.max(v * 0.2, -0.5), 0.5) + 0.5",
        [-2.4999001, -2.5, 2.4999, 0.3],
    ),
    "hard sigmoid in bf16": (
        "bf16", "minimum(maximum(x[i] * 0.2, -0.5), 0.5) + 0.5", "ag.min(ag.max(v * 0.2, -0.5), 0.5) + 0.5",
        [-2.484375, -2.5, 1.0],
    ),
    "a clamp moved to zero": (
        "f32", "minimum(maximum(x[i], -1.3), 1.7) + 1.3", "ag.min(ag.max(v, -1.3), 1.7) + 1.3", [-1.29999995, -1.2, 3]
    ),
    "a minimum with a negative number": ("f32", "minimum(x[i], 0.7) + 0.7", "ag.min(v, 0.7) + 0.7", [-0.69999999, 5]),
    "1000.3 in bf16": (
        "f32", "x[i] - 1000.3", "v - ag.full(P, bf16, 1000.3).to(f32)", [1000.3, 1000.0, 5.0]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_error_is_within_the_bound(name: str, tmp_path: Path) -> None:
    dtype, spec, stored, numbers = CASES[name]
    width = np.dtype(TYPES[dtype]).itemsize
    (tmp_path / "k.py").write_text(SOURCE.format(spec=spec, stored=stored, dtype=dtype, width=width))
    kernel = read(tmp_path / "k.py")
    bound = rounding(kernel).of("z")
    assert isinstance(bound, ErrorBound)
    assert kernel.computes is not None
    (result,) = kernel.computes.results
    x = np.array(numbers, TYPES[dtype])
    arrays = {"x": x, "z": np.zeros_like(x)}
    sizes = {"N": len(x)}
    got = run(insert_waits(kernel), arrays, sizes).arrays["z"].astype(np.float64)
    want = evaluate(result, arrays, sizes).value
    most = bound.at(result, arrays, sizes, want)
    assert (np.abs(got - want) <= most).all(), (got, want, most)


def test_rounding_alone_does_not_refute(tmp_path: Path) -> None:
    stored = "ag.max(v + 1000.0, 1000.0) - 1000.0"
    (tmp_path / "k.py").write_text(SOURCE.format(spec="maximum(x[i], 0)", stored=stored, dtype="f32", width=4))
    verdicts = {v.rule: v.status for v in check(scheduled(read(tmp_path / "k.py"))).verdicts}
    assert verdicts["value"] == "unknown"


def test_a_mistake_as_large_as_digits_is_refuted(tmp_path: Path) -> None:
    stored = "ag.max(v + 1000.0, 1000.0) - 999.0"
    (tmp_path / "k.py").write_text(SOURCE.format(spec="maximum(x[i], 0)", stored=stored, dtype="f32", width=4))
    verdicts = {v.rule: v.status for v in check(scheduled(read(tmp_path / "k.py"))).verdicts}
    assert verdicts["value"] == "refuted"
