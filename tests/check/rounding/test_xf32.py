"""xf32: one format for interpreter, machine and bound; what is printed is never exceeded, and is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.check.explain.value_witness import FAR
from argus.check.rounding import ErrorBound, rounding
from argus.compile.cache import compile_cached
from argus.device.simulated import JitDevice
from argus.ir.float_formats import FORMATS
from argus.ir.interp.numbers import _matrix_input
from argus.machine.interp_matrix import elements
from argus.pipeline import program_of
from argus.spec import evaluate

XF32 = FORMATS["xf32"]
WORDS = st.integers(0, 2**32 - 1)


@given(st.lists(WORDS, min_size=1, max_size=64))
def test_interpreter_and_machine_read_the_same_number(words: list[int]) -> None:
    bits = np.array(words, dtype=np.uint32)
    machine = elements("xf32", bits.reshape(1, -1)).reshape(-1)
    np.testing.assert_array_equal(_matrix_input(bits.view(np.float32), "xf32"), machine)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_nearest_number_of_the_format(x: float) -> None:
    number = np.array([x], dtype=np.float32)
    (read,) = _matrix_input(number, "xf32").astype(np.float64)
    if abs(x) > XF32.largest or not np.isfinite(read):
        return
    unit = 2.0 ** (max(np.frexp(x)[1] - 1, XF32.least) - XF32.digits + 1)
    assert read % unit == 0, "it has the digits of xf32"
    assert abs(read - x) <= unit / 2, "and none is nearer"


def products(knobs: dict[str, object]) -> ErrorBound:
    kernel = program_of(Path("argus/kernels/gemm_f32.py"), knobs, "gemm_f32").kernel
    bound = rounding(kernel).of("C")
    assert isinstance(bound, ErrorBound)
    return bound


def test_the_bound_has_both_operands_error() -> None:
    two = products({"XF32": True}).value.theta.terms[0][1] - products({}).value.theta.terms[0][1]
    assert two == pytest.approx(2 * 2.0 ** (1 - XF32.digits), rel=1e-2)
    assert "(0.00196 +" in products({"XF32": True}).text()


def test_the_user_is_told() -> None:
    found = rounding(program_of(Path("argus/kernels/gemm_f32.py"), {"XF32": True}, "gemm_f32").kernel).hazards
    assert {(h.kind, h.reason) for h in found} == {
        ("narrowing", "f32 operands are read with 11 digits (xf32): an operand is off by up to 0.00098 of itself")
    }


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_worst_operands_stay_within_the_bound(sign: float) -> None:
    """Every operand lies in the middle between two numbers of the format and is rounded the same way, so that all
    errors add up: more than half of the bound, which is for a chip that cuts off, and never more than all of it."""
    program = program_of(Path("argus/kernels/gemm_f32.py"), {"XF32": True, "BM": 64, "BN": 64}, "gemm_f32")
    sizes = {"Z": 1, "M": 32, "N": 32, "K": 64}
    worst = np.float32(1 + 2.0**-11 - 2.0**-23)  # just below the middle: rounded down to 1
    arrays = {
        "A": np.full((1, 32, 64), sign * worst, np.float32), "B": np.full((1, 64, 32), worst, np.float32),
        **{name: np.zeros(1, np.float32) for name in "UVW"}, "C": np.zeros((1, 32, 32), np.float32),
    }  # fmt: skip
    scalars = {f"p{n}": 0.0 for n in range(8)}
    JitDevice().launch(program.kernel, compile_cached(program).object, sizes, arrays, scalars)
    assert program.kernel.computes is not None
    (stated,) = program.kernel.computes.results
    inputs = {name: array for name, array in arrays.items() if name != "C"}
    want = evaluate(stated, inputs, {**sizes, **scalars})
    bound = rounding(program.kernel).of("C")
    assert isinstance(bound, ErrorBound)
    share = np.abs(arrays["C"] - want.value) / bound.at(stated, inputs, {**sizes, **scalars}, want.value)
    assert 0.45 < share.max() <= 1


def test_rounding_of_operands_is_no_counterexample() -> None:
    """A value is far from its specification only beyond what 11 digits may do to it."""
    assert FAR[16] > 2 * 2.0 ** (1 - XF32.digits)
