"""Rows of elementwise functions: each says one thing in several ways, and the ways agree.

The real meaning is computed in float64 by an algebra of its own; the exact fused multiply-add is compared with rational
numbers. The composites are measured on few inputs here, on 2^24 by `python -m bench.elementwise_error`.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.ir.maps import MAPS
from argus.ir.maps.primitives import PRIMITIVES, exact_fma
from argus.ir.maps.program import MapProgram, Node
from argus.ir.maps.reference import reference
from argus.lang.builtins import FUNCTIONS
from bench.elementwise_error import REFERENCE, measure

ROOT = Path(__file__).parents[2]
COMPOSITES = [name for name, row in MAPS.items() if row.program is not None]
MEASURED = 1 << 16


class Float64:
    """Real numbers as float64 arrays."""

    def constant(self, value):
        return np.float64(value)

    def add(self, x, y):
        return x + y

    def negative(self, x):
        return -x

    def multiply(self, x, y):
        return x * y

    def power(self, x, twice):
        return x ** (twice / 2)

    def exp2(self, x):
        return np.exp2(x)

    def log2(self, x):
        return np.log2(x)

    def extreme(self, fn, args):
        return (np.maximum if fn == "max" else np.minimum)(*args)

    def apply(self, fn, args):
        known = {"abs": np.abs, "floor": np.floor, "copysign": np.copysign, **REFERENCE}
        return known[fn](*args)


@pytest.mark.parametrize("name", [n for n, row in MAPS.items() if "float" in row.kinds and row.out == "same"])
def test_numpy_computes_the_real_meaning(name: str) -> None:
    row = MAPS[name]
    if name in ("ldexp", "mantissa", "exponent"):
        pytest.skip("parts of numbers; they have no name in the reals")
    rng = np.random.default_rng(1)
    args = [rng.uniform(0.1, 4.0, 500).astype(np.float32) for _ in range(row.arity)]
    right = row.means(Float64(), *(a.astype(np.float64) for a in args))
    allowed = max(row.ulps, 0.5) * 2.0**-23 * 1.01
    np.testing.assert_allclose(row.numpy(*args).astype(np.float64), right, rtol=allowed, atol=allowed)


@pytest.mark.parametrize("name", [n for n, row in MAPS.items() if row.arity == 1 and "float" in row.kinds])
def test_zero_goes_to_zero_where_the_row_says_so(name: str) -> None:
    row = MAPS[name]
    with np.errstate(all="ignore"):
        made = row.numpy(np.zeros(1, np.float32))[0]
    assert (made == 0) == row.keeps_zero


def test_every_row_has_machine_code() -> None:
    for row in MAPS.values():
        assert (row.program is None) != (not row.emission), row.name
        for kind in row.kinds if row.program is None else ():
            names = {"f32"} if kind == "float" else set()
            assert {kind, *names} & row.emission.keys(), f"{row.name} on {kind}"


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites_are_programs_of_exact_functions(name: str) -> None:
    """Steps of the hardware's own precision would make the bits the chip's own."""
    row = MAPS[name]
    assert row.program is not None
    for step in row.program.steps:
        assert PRIMITIVES[step.fn].ulps <= 0.5, step.fn
        assert len(step.args) == PRIMITIVES[step.fn].arity
    assert row.slots == sum(PRIMITIVES[step.fn].slots for step in row.program.steps)


@pytest.mark.parametrize("name", COMPOSITES)
def test_error_is_what_the_row_states(name: str) -> None:
    worst, where, wrong = measure(MAPS[name], MEASURED, seed=3)
    assert worst <= MAPS[name].ulps, where
    assert wrong == 0
    assert MAPS[name].inputs >= 1 << 24


def test_pow_of_special_numbers() -> None:
    """As C's and numpy's `pow`, signs of zeros included."""
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 1e-40, -1e-40, 3e38, -3e38, 16777216.0, 16777217.0]
    some = np.array([*values, math.inf, -math.inf, math.nan], np.float32)
    x, y = (a.ravel() for a in np.meshgrid(some, some))
    with np.errstate(all="ignore"):
        got = MAPS["pow"].numpy(x, y)
        want = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    assert (np.isnan(got) == np.isnan(want)).all()
    real = ~np.isnan(want)
    assert (np.signbit(got[real]) == np.signbit(want[real])).all()
    np.testing.assert_allclose(got[real], want[real], rtol=1e-6)


f32s = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=400, deadline=None)
@given(f32s, f32s, f32s)
def test_fma_is_rounded_once(x: float, y: float, z: float) -> None:
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    with np.errstate(all="ignore"):
        got = float(exact_fma(np.float32(x), np.float32(y), np.float32(z)))
    if exact == 0 or not math.isfinite(got):
        return
    below, above = (float(np.nextafter(np.float32(got), np.float32(way))) for way in (-math.inf, math.inf))
    off = abs(Fraction(got) - exact)
    for other in (below, above):
        assert not math.isfinite(other) or off <= abs(Fraction(other) - exact)


def test_fma_where_two_roundings_are_wrong() -> None:
    """x*y is just above the middle of two numbers by less than float64 holds beside z."""
    x, y, z = np.float32(1 + 2.0**-23), np.float32(2.0**-24), np.float32(2.0**30)
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    assert exact > Fraction(float(z))
    one, tiny = np.float32(1.0), np.float32(2.0**-60)
    half = np.float32(1 + 2.0**-12)  # its square is 1 + 2^-11 + 2^-24: exactly between two numbers of f32
    got = exact_fma(half, half, tiny)
    assert got == np.float32(1 + 2.0**-11 + 2.0**-23)
    assert exact_fma(half, half, -tiny) == np.float32(1 + 2.0**-11)
    assert (half.astype(np.float64) ** 2 + tiny).astype(np.float32) == exact_fma(half, half, np.float32(0)) != got
    assert exact_fma(one, one, np.float32(0)) == 1


def test_equal_steps_of_a_program_are_one() -> None:
    def twice(x: Node) -> Node:
        return (x + 1.0) * (x + 1.0)

    assert len(MapProgram.traced(1, twice).steps) == 2
    with pytest.raises(ValueError, match="not a number of f32"):
        MapProgram.traced(1, lambda x: x + 0.1)


def test_kernels_call_exactly_the_exposed_functions() -> None:
    assert {row.name for row in MAPS.values() if row.exposed} <= FUNCTIONS.keys()
    assert not {row.name for row in MAPS.values() if not row.exposed} & FUNCTIONS.keys()


def test_the_reference_has_the_table() -> None:
    """`python -m argus.ir.maps.reference` prints it."""
    page = (ROOT / "docs" / "language.md").read_text()
    assert reference() in page


def test_the_guide_names_what_a_row_holds() -> None:
    page = (ROOT / "docs" / "extending.md").read_text()
    section = page[page.index("## An elementwise function") :]
    for word in re.findall(r"`(argus/[\w/.]+\.py|bench/[\w/.]+\.py|tests/[\w/.]+\.py)`", section.split("\n## ")[0]):
        assert (ROOT / word).exists(), word
