"""Conversions to integers and functions of small numbers: the interpreter gives the bits that the object gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.compile.cache import compile_cached
from argus.device.simulated import CheckingDevice
from argus.ir.interp import run
from argus.ir.passes.schedule import scheduled
from argus.lang import read

SOURCE = """
import argus as ag
from argus import f32, i32, i16, i8, u32, u16, u8
P = ag.Owner(t=64, i="t")
@ag.kernel(threads=64, requires="N == 64", example=dict(N=64))
def k(X: ag.In["N", f32], Z: ag.Out["N", {out}]):
    ag.grid(1)
    x = X[0].load(P, width=4)
    Z[0].store({body}, width={width})
"""
EDGES = [0.0, -0.0, 0.4, 0.5, 0.6, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5, 127.5, 128.0, 255.5, 256.0, -128.5, -129.0,
         300.7, 32767.5, 65535.5, -32768.5, 7e4, -7e4, 2147483520.0, 2.2e9, 4294967040.0, 5e9, -2147483648.0, -3e9,
         1e20, -1e20, np.inf, -np.inf, np.nan]  # fmt: skip
SMALL = [0.0, -0.0, 1e-45, 1e-40, -1e-40, 1.17e-38, 1.1754944e-38, 1.2e-38, 3e-38, 1e-30, 1.0, 4.0, 3e38, 8.6e37,
         1.7e38, np.inf, np.nan, -126.0, -126.5, -149.0, -150.0, -1.0]  # fmt: skip


def both(tmp_path: Path, out: str, body: str, width: int, numbers: list[float]) -> tuple[np.ndarray, np.ndarray]:
    file = tmp_path / "k.py"
    file.write_text(SOURCE.format(out=out, body=body, width=width))
    program = scheduled(read(str(file)))
    x = np.resize(np.asarray(numbers, dtype=np.float32), 64)
    kind = {"f": "f4", "i": f"i{width}", "u": f"u{width}"}[out[0]]
    on_machine = np.zeros(64, kind)
    CheckingDevice().launch(program.kernel, compile_cached(program).object, {"N": 64}, {"X": x, "Z": on_machine}, {})
    return on_machine, run(program.kernel, {"X": x}, {"N": 64}).arrays["Z"]


@pytest.mark.parametrize("how", ["", ', rounding="rtz"', ", saturate=True"])
@pytest.mark.parametrize("out", ["i32", "u32", "i16", "u16", "i8", "u8"])
def test_floats_to_integers(tmp_path: Path, out: str, how: str) -> None:
    machine, interpreted = both(tmp_path, out, f"x.to({out}{how})", int(out[1:]) // 8, EDGES)
    assert np.array_equal(machine, interpreted), [
        (e, m, i) for e, m, i in zip(EDGES, machine, interpreted, strict=False)
    ]


@pytest.mark.parametrize("fn", ["rsqrt", "sqrt", "log2", "rcp", "exp2"])
def test_functions_of_small_numbers(tmp_path: Path, fn: str) -> None:
    machine, interpreted = both(tmp_path, "f32", f"ag.{fn}(x)", 4, SMALL)
    assert np.array_equal(np.isnan(machine), np.isnan(interpreted))
    same = machine.view(np.int32).astype(np.int64) - interpreted.view(np.int32)
    assert (np.abs(same)[~np.isnan(machine)] <= 1).all(), list(zip(SMALL, machine, interpreted, strict=False))
