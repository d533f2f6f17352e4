"""The bounds of library kernels: what is printed, and that no observed error is above it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.check.engine import check
from argus.check.rounding import ErrorBound, NoBound, rounding
from argus.pipeline import program_of
from bench.rounding import generated, observe
from tests.check.rounding.hazard_kernels import HAZARDS

KERNELS = Path("argus/kernels")
PRINTED = [
    ("vadd", "vadd", {}, "value of z: |error| <= 5.97e-08 * |z| + underflow, f32"),
    ("transpose", "transpose", {}, "value of Y: |error| <= 0, bf16"),
    (
        "rowreduce", "rowreduce", {},
        "value of Y: |error| <= 5.97e-08 * |Y| + 5.37e-07 * sum(|X[m, n]|, n) + underflow, f32",
    ),
    ("rmsnorm", "rmsnorm", {}, "value of Y: |error| <= 0.00393 * |Y| + underflow, bf16"),
    (
        "softmax", "softmax", {},
        "value of Y: |error| <= (0.00393 + 2.01e-07 * min(2.89 * |X|, 160)) * |Y| + underflow, bf16",
    ),
    (
        "gemm", "gemm", {},
        "value of C: |error| <= 0.00393 * |C| + (7.66e-06 + 7.78e-06 * (K//64)) * sum(|A[m, k]| * |B[n, k]|, k)"
        " + underflow, bf16",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("file", "kernel", "settings", "text"), PRINTED)
def test_printed(file: str, kernel: str, settings: dict[str, str], text: str) -> None:
    (bound,) = rounding(program_of(KERNELS / f"{file}.py", settings, kernel).kernel).bounds
    assert bound.text() == text


def test_with_the_proof() -> None:
    report = check(program_of(KERNELS / "vadd.py", {}, "vadd"))
    assert PRINTED[0][3] in report.render().splitlines()
    assert report.to_json()["rounding"] == [
        {"result": "z", "bound": PRINTED[0][3].partition(": ")[2], "reason": "", "line": 0}
    ]


@pytest.mark.parametrize("settings", [{}, {"causal": True, "RAGGED": True}, {"causal": True, "LAZY": 8}])
def test_attention_is_bounded_relative_to_weighted_values(settings: dict[str, str]) -> None:
    found = rounding(program_of(KERNELS / "attention.py", settings, "attention").kernel)
    o, log = found.bounds
    assert isinstance(o, ErrorBound)
    assert isinstance(log, ErrorBound)
    assert "* O(|V|)" in o.text()
    assert o.value.degree == 0
    assert not found.hazards


@pytest.mark.parametrize(
    ("file", "kernel", "settings"),
    [
        ("elementwise", "unary", {"DTYPE": "f32", "ACT": "gelu"}),
        ("softmax", "softmax", {"DTYPE": "f32", "WAVES": 2}),
        ("rmsnorm", "rmsnorm_long", {"DTYPE": "f32"}),
        ("rowreduce", "rowreduce", {"OP": "mean"}),
        ("moe", "quantise", {}),
        ("moe", "combine", {}),
    ],
)
def test_observed_errors_are_within(file: str, kernel: str, settings: dict[str, str]) -> None:
    seen = observe(kernel, program_of(KERNELS / f"{file}.py", settings, kernel), on_machine=False)
    assert seen.bounded
    assert seen.elements
    assert not seen.over, seen.first
    assert seen.least < 30


def test_generated_kernels_are_within() -> None:
    for name, program in generated(6, 11):
        seen = observe(name, program, on_machine=False)
        assert not seen.over, (name, seen.first)


def test_a_comparison_of_rounded_numbers_has_no_bound(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(HAZARDS["test"].source)
    (bound,) = rounding(program_of(tmp_path / "k.py", {}, "k").kernel).bounds
    assert isinstance(bound, NoBound)
    assert bound.line == 13
    assert "comparison" in bound.text()


def test_a_negative_scalar_has_no_bound() -> None:
    kernel = program_of(KERNELS / "rmsnorm.py", {}, "rmsnorm").kernel
    (bound,) = rounding(kernel).bounds
    assert isinstance(bound, ErrorBound)
    x = np.ones((2, 8))
    given = {"X": x, "W": np.ones(8)}
    assert np.isfinite(bound.at(bound.spec, given, {"M": 2, "N": 8, "eps": 1e-5}, x)).all()
    assert np.isinf(bound.at(bound.spec, given, {"M": 2, "N": 8, "eps": -1e-5}, x)).all()


CHOICES = """import argus as ag
from argus import f32

FLAT = ag.Owner(t=256, i="t")
ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")


@ag.kernel(threads=256, requires="N >= 1", example=dict(N=300),
           computes="z[i] = maximum(x[i] * y[i], 0) - maximum(x[i] * w[i], 0)")
def relus(x: ag.In["N", f32], y: ag.In["N", f32], w: ag.In["N", f32], z: ag.Out["N", f32]):
    start = 256 * ag.grid(ag.cdiv(N, 256))
    a = x[start].load(FLAT, width=4)
    p, q = a * y[start].load(FLAT, width=4), a * w[start].load(FLAT, width=4)
    z[start].store(ag.max(p, 0.0) - ag.max(q, 0.0), width=4)


@ag.kernel(threads=64, requires="N == 256", example=dict(M=2, N=256),
           computes="z[m, n] = exp2(x[m, n] - min(x[m, j], j))")
def lowest(x: ag.In["M N", f32], z: ag.Out["M N", f32]):
    m = ag.grid(M)
    v = x[m].load(ROW, width=16)
    z[m].store(ag.exp2(v - v.min("n")), width=16)
"""


def choice(name: str, folder: Path) -> ErrorBound:
    (folder / "k.py").write_text(CHOICES)
    (bound,) = rounding(program_of(folder / "k.py", {}, name).kernel).bounds
    assert isinstance(bound, ErrorBound)
    return bound


def test_maxima_that_the_specification_has_keep_their_error(tmp_path: Path) -> None:
    """The rounding of both products is in the bound, though a maximum is taken of each."""
    bound = choice("relus", tmp_path)
    terms = {tuple(a.name for a, _ in powers) for powers, _ in bound.value.alpha.terms}
    assert {("x", "y"), ("w", "x")} <= terms


def test_a_minimum_bounds_no_exponential(tmp_path: Path) -> None:
    assert choice("lowest", tmp_path).value.size is None


def test_kernels_do_not_share_their_loops() -> None:
    """Both forms turn as often, by formulas of the same text; their sizes are different variables."""
    for settings in ({"causal": True, "RAGGED": True}, {"causal": True, "LAZY": 8}):
        kernel = program_of(KERNELS / "attention.py", settings, "attention").kernel
        bound = rounding(kernel).of("O")
        assert isinstance(bound, ErrorBound)
        sizes = {"Z": 1, "G": 1, "Sq": 256, "Sk": 256}
        given = {name: np.ones((1, 256, 128)) for name in "KV"} | {"Q": np.ones((1, 1, 256, 128))}
        ones = np.ones((1, 1, 256, 128))
        assert np.isfinite(bound.at(bound.spec, given, {**sizes, "scale": 0.1}, ones)).all()
