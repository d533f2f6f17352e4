"""Negated numbers whose bits were chosen word by word: LLVM must not take two words for an f64.

A tail of a load of 16-bit elements is masked word by word, and so are words that are chosen as whole numbers. With
llvmlite 0.50 (LLVM 22), `fneg` of a bit cast of two chosen words changed the sign of the last float alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.compile import compile_kernel
from argus.device.simulated import JitDevice
from argus.ir.passes.schedule import scheduled
from argus.lang import read

KERNEL = """import argus as ag
from argus import bf16, f16, f32, i32

PART = ag.Owner(t=64, e={each}, i="t*{each} + e")


@ag.kernel(threads=64, requires="N >= 1", example=dict(N=250))
def k(x: ag.In["N", {dtype}], y: ag.Out["N", {out}]):
    b = ag.grid(ag.cdiv(N, 64 * {each}))
    v = x[64 * {each} * b].load(PART, width={width})
    y[64 * {each} * b].store({stores}, width={stored})
"""
CASES = {
    "f16 through f32": ("f16", "f16", 8, "(-v.to(f32)).to(f16)"),
    "f16": ("f16", "f16", 8, "-v"),
    "f16, wide": ("f16", "f16", 16, "-v"),
    "f16, one word": ("f16", "f16", 4, "-v"),
    "f16, sum": ("f16", "f16", 8, "1.0 - v"),
    "bf16 through f32": ("bf16", "bf16", 8, "(-v.to(f32)).to(bf16)"),
    "chosen words": ("i32", "f32", 8, "-(ag.where(v > 7, v, v + 1).bitcast(f32))"),
    "chosen words, four": ("i32", "f32", 16, "-(ag.where(v > 7, v, v + 1).bitcast(f32))"),
}


@pytest.mark.parametrize("size", [1, 3, 250, 256, 513])
@pytest.mark.parametrize("name", CASES)
def test_every_element_is_negated(name: str, size: int, tmp_path: Path) -> None:
    import ml_dtypes

    dtype, out, width, stores = CASES[name]
    kinds = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "i32": np.int32, "f32": np.float32}
    given, made = np.dtype(kinds[dtype]), np.dtype(kinds[out])
    each = width // given.itemsize
    file = tmp_path / "kernel.py"
    file.write_text(
        KERNEL.format(dtype=dtype, out=out, width=width, each=each, stores=stores, stored=each * made.itemsize)
    )
    program = scheduled(read(str(file)))
    x = np.linspace(-3, 3, size).astype(np.float32)
    x = x.view(np.int32) if dtype == "i32" else x.astype(given)
    want = np.where(x > 7, x, x + 1).astype(np.int32).view(np.float32) if dtype == "i32" else x.astype(np.float32)
    y = np.zeros(size, made)
    JitDevice().launch(program.kernel, compile_kernel(program).object, {"N": size}, {"x": x, "y": y}, {})
    first = 1.0 if name == "f16, sum" else 0.0
    np.testing.assert_array_equal(y.astype(np.float32), (first - want).astype(made).astype(np.float32))
