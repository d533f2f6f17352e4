"""Maxima over rows whose tails are zeros from outside of the tensor: harmless where no element is negative."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import Report, check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

TEXT = """import argus as ag
from argus import bf16, f32, i8, i16, i32, inf, u8, u16

ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")


@ag.kernel(threads=64, requires="N <= 256{more}", example=dict(M=70, N=50), computes="Y[m] = {computes}")
def rows(X: ag.In["M N", {dtype}], Q: ag.In["M N", {dtype}], Y: ag.Out["M", {dtype}]):
    m = ag.grid(M)
    x = X[m].load(ROW, width={width}, guard="shape")
    q = Q[m].load(ROW, width={width}, guard="shape")
    Y[m].store({result}, width={width}, guard=ag.lane() == 0)
"""
WIDTHS = {"f32": 4, "i32": 4, "bf16": 2, "i16": 2, "u16": 2, "i8": 1, "u8": 1}


def report(path: Path, result: str, computes: str, dtype: str = "f32", more: str = "") -> Report:
    file = path / "kernel.py"
    file.write_text(TEXT.format(result=result, computes=computes, dtype=dtype, more=more, width=WIDTHS[dtype]))
    return check(scheduled(read(str(file))))


RIGHT = {
    "magnitudes": ("ag.abs(x).max('n')", "max(abs(X[m, n]), n)"),
    "squares": ("(x * x).max('n')", "max(X[m, n] * X[m, n], n)"),
    "positive parts": ("ag.max(x, 0.0).max('n')", "max(maximum(X[m, n], 0), n)"),
    "products of magnitudes": ("(ag.abs(x) * ag.abs(q)).max('n')", "max(abs(X[m, n]) * abs(Q[m, n]), n)"),
    "minima of what is not positive": ("(-ag.abs(x)).min('n')", "min(-abs(X[m, n]), n)"),
    "sums of magnitudes": ("(ag.abs(x) + ag.abs(q)).max('n')", "max(abs(X[m, n]) + abs(Q[m, n]), n)"),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_zeros_are_no_greater(name: str, tmp_path: Path) -> None:
    found = report(tmp_path, *RIGHT[name])
    assert found.status == "proved", found.render()


WRONG = {
    "numbers of both signs": ("x.max('n')", "max(X[m, n], n)"),
    "minima of magnitudes": ("ag.abs(x).min('n')", "min(abs(X[m, n]), n)"),
    "magnitudes and one": ("(ag.abs(x) + 1.0).max('n') - 1.0", "max(abs(X[m, n]), n) + 1"),
    "what is one beyond the end": ("ag.exp(x).max('n')", "max(exp(X[m, n]), n)"),
    "magnitudes less another": ("(ag.abs(x) - ag.abs(q)).max('n')", "max(abs(X[m, n]) - abs(Q[m, n]), n)"),
    "negative parts": ("ag.min(x, 0.0).max('n')", "max(minimum(X[m, n], 0), n)"),
    "a product of two signs": ("(x * q).max('n')", "max(X[m, n] * Q[m, n], n)"),
    "an inverse": ("(1.0 / (x * x)).max('n')", "max(1 / (X[m, n] * X[m, n]), n)"),
    "cubes of magnitudes with a sign": ("(ag.abs(x) * x).max('n')", "max(abs(X[m, n]) * X[m, n], n)"),
    "the other row": ("ag.abs(q).max('n')", "max(abs(X[m, n]), n)"),
    "a part of the row": ("ag.where(x.n < N - 1, ag.abs(x), 0.0).max('n')", "max(abs(X[m, n]), n)"),
    "a logarithm": ("ag.log(x * x + 1.0).max('n')", "max(log(X[m, n] * X[m, n]) + 1, n)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_zeros_that_are_greater_spoil_it(name: str, tmp_path: Path) -> None:
    assert report(tmp_path, *WRONG[name]).status != "proved"


@pytest.mark.parametrize("dtype", ["i32", "i16", "i8"])
def test_magnitudes_and_squares_of_integers_may_wrap(dtype: str, tmp_path: Path) -> None:
    """The least integer is its own magnitude: negative. Squares wrap."""
    assert report(tmp_path, "(x * x).max('n')", "max(X[m, n] * X[m, n], n)", dtype).status != "proved"
    assert report(tmp_path, "ag.abs(x).max('n')", "max(abs(X[m, n]), n)", dtype).status != "proved"
