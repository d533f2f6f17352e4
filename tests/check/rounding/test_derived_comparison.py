"""A bound wider than the results takes nobody's place: wrong results of a normalized row are not called right."""

from __future__ import annotations

import numpy as np
import pytest

import argus.kernels
from argus.check.rounding import ErrorBound, rounding
from argus.check.rounding.derived_comparison import compare_derived
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.spec import evaluate
from argus.tasks.inputs import make_arrays, make_scalars


@pytest.mark.parametrize(("dtype", "width"), [("bf16", 16), ("f32", 4)])
@pytest.mark.parametrize("row", [16, 32, 64, 200])
def test_wrong_rows_are_wrong(dtype: str, width: int, row: int) -> None:
    path = f"{argus.kernels.__path__[0]}/layernorm.py"
    kernel = scheduled(read(path, settings={"DTYPE": dtype, "WIDTH": width}, kernel="layernorm")).kernel
    bound = rounding(kernel).of("Y")
    assert isinstance(bound, ErrorBound)
    assert kernel.computes is not None
    (stated,) = kernel.computes.results
    sizes, scalars = {"M": 6, "N": row}, make_scalars(kernel, 0)
    inputs = make_arrays(kernel, sizes, 0)
    want = evaluate(stated, inputs, {**sizes, **scalars}).value
    shown = inputs["Y"].dtype
    wrong = {
        "nothing": np.zeros_like(want),
        "negative": -want,
        "of the neighbor": want[:, np.arange(row) ^ 1],
        "5 % too large": want * 1.05,
    }
    for name, values in wrong.items():
        assert not compare_derived(bound, stated, inputs, {**sizes, **scalars}, values.astype(shown)).ok, name
    assert compare_derived(bound, stated, inputs, {**sizes, **scalars}, want.astype(shown)).ok
