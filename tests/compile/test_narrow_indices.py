"""Loaded numbers of one and two bytes as indices: LLVM must not merge their extension into the load and move it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.compile import compile_kernel
from argus.device.simulated import JitDevice
from argus.ir.passes.schedule import scheduled
from argus.lang import read

KERNEL = """import argus as ag
from argus import f32, {dtype}

ONE = ag.Owner(t=64, z="t*0")


@ag.kernel(threads=64, requires="N >= 1 and B >= 1 and B <= 50", example=dict(N=3, B=5),
           computes="Y[i] = T[X[i]] * W[i]")
def k(X: ag.In["N", {dtype}], T: ag.In["B", f32], W: ag.In["N", f32], Y: ag.Out["N", f32]):
    i = 64 * ag.grid(ag.cdiv(N, 64)) + ag.thread()
    x = X[i].load(ONE, width={width}).without()
    w = W[i].load(ONE, width=4).without()
    d = ag.as_index(x, 0, B - 1, name="bin")
    t = T[d].load(ONE, width=4).without()
    Y[i].store(t * w, width=4, guard=i < N)
"""


@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "u16"])
def test_a_load_between_a_narrow_index_and_its_use_keeps_its_place(dtype: str, tmp_path: Path) -> None:
    given = np.dtype({"i": "int", "u": "uint"}[dtype[0]] + dtype[1:])
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL.format(dtype=dtype, width=given.itemsize))
    program = scheduled(read(str(file)))
    dice = np.random.default_rng(1)
    x, t = dice.integers(0, 5, 70).astype(given), dice.normal(size=5).astype(np.float32)
    w, y = dice.normal(size=70).astype(np.float32), np.zeros(70, np.float32)
    arrays = {"X": x, "T": t, "W": w, "Y": y}
    JitDevice().launch(program.kernel, compile_kernel(program).object, {"N": 70, "B": 5}, arrays, {})
    assert np.array_equal(y, t[x] * w)
