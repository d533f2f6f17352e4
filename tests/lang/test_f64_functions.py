"""Functions that the chip does not have in f64 are refused by the reader, not after a proof by the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.compile.compiler import compile_kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.lang.errors import ProgramError

SOURCE = """
import argus as ag
from argus import {dtype}
W = ag.Owner(t=64, i="t")
@ag.kernel(threads=64, requires="N >= 1", example=dict(N=64))
def k(X: ag.In["N", {dtype}], Y: ag.Out["N", {dtype}]):
    b = ag.grid(ag.cdiv(N, 64))
    x = X[64 * b].load(W, width={width}, guard="shape")
    Y[64 * b].store({value}, width={width}, guard="shape")
"""
REFUSED = ("ag.exp2(x)", "ag.log2(x)", "ag.exp(x)", "ag.log(x)", "ag.tanh(x)", "ag.erf(x)", "ag.sigmoid(x)")
TAKEN = ("ag.sqrt(x)", "ag.rsqrt(x)", "ag.max(x, x * x)", "ag.abs(x)", "ag.floor(x)", "x / (x + 1.0)")


def file(folder: Path, value: str, dtype: str = "f64", width: int = 8) -> Path:
    path = folder / "k.py"
    path.write_text(SOURCE.format(value=value, dtype=dtype, width=width))
    return path


@pytest.mark.parametrize("value", REFUSED)
def test_what_is_not_compiled_is_not_read(tmp_path: Path, value: str) -> None:
    with pytest.raises(ProgramError, match=r"AG413.*not defined on f64"):
        read(file(tmp_path, value))
    read(file(tmp_path, value, "f32", 4))


@pytest.mark.parametrize("value", TAKEN)
def test_what_is_read_is_compiled(tmp_path: Path, value: str) -> None:
    compile_kernel(scheduled(read(file(tmp_path, value))))
