"""Laws: what is computed in a narrow format is as near to the exact result as the abstract value says."""

from __future__ import annotations

from fractions import Fraction
from math import expm1

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.check.rounding.arithmetic import add, as_type, join, multiply, reciprocal, subtract
from argus.check.rounding.leaves import element
from argus.check.rounding.magnitudes import LaunchQuantity, Magnitude, atom, constant, least
from argus.check.rounding.rounded_value import RoundedValue
from argus.ir.ops import Tensor
from argus.ir.types import bf16, f16

NUMBERS = st.floats(-(2.0**6), 2.0**6, width=16)


def leaf(name: str) -> RoundedValue:
    return element(Tensor(name, bf16, (), (), (), True, False))


def within(x: RoundedValue, exact: float, envelope: float, got: float, sizes: dict[tuple[str, str], float]) -> bool:
    """The claim of a rounded value, at numbers."""
    theta, alpha = x.total.at(sizes), x.alpha.at(sizes)
    scale = abs(exact) if x.own else envelope
    return abs(got - exact) <= (expm1(theta) * (scale + alpha) + alpha) * (1 + 1e-9)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=12), st.booleans())
@settings(max_examples=150, deadline=None)
def test_sums_of_products(pairs: list[tuple[float, float]], narrow: bool) -> None:
    dtype, kind = (bf16, ml_dtypes.bfloat16) if narrow else (f16, np.float16)
    a, b = leaf("A"), leaf("B")
    total: RoundedValue | None = None
    got, exact, envelope = 0.0, Fraction(0), 0.0
    for x, y in pairs:
        product = as_type(multiply(a, b), dtype)
        one = float(np.asarray(x * y).astype(kind))
        total = product if total is None else as_type(add(total, product), dtype)
        got = one if total is product else float(np.asarray(got + one).astype(kind))
        exact, envelope = exact + Fraction(x) * Fraction(y), envelope + abs(x * y)
    assert total is not None
    sizes = {("tensor", n): max(abs(p[i]) for p in pairs) for i, n in enumerate("AB")}
    if np.isfinite(got):
        assert within(total, float(exact), envelope, got, sizes)
        assert envelope <= total.size.at(sizes)  # type: ignore[union-attr]


@given(NUMBERS, NUMBERS, NUMBERS)
@settings(max_examples=150, deadline=None)
def test_cancellation_becomes_absolute(x: float, y: float, z: float) -> None:
    a, b = leaf("A"), leaf("B")
    made = as_type(subtract(as_type(add(multiply(a, b), a), bf16), a), bf16)
    assert made.form is None

    def r(v: float) -> float:
        return float(np.asarray(v).astype(ml_dtypes.bfloat16))

    x, y = r(x), r(y)
    got = r(r(x * y + x) - x)
    sizes = {("tensor", "A"): abs(x), ("tensor", "B"): abs(y)}
    assert within(made, x * y, 0.0, got, sizes)


@given(NUMBERS.filter(lambda v: abs(v) > 2.0**-6), NUMBERS)
@settings(max_examples=150, deadline=None)
def test_quotients_are_relative(x: float, y: float) -> None:
    made = as_type(multiply(leaf("B"), reciprocal(leaf("A"))), f16)
    assert made.own
    got = float(np.float16(np.float64(y) / np.float64(x)))
    if np.isfinite(got):
        assert within(made, y / x, 0.0, got, {})


def test_a_difference_of_inputs_is_at_opposite_signs() -> None:
    made = subtract(leaf("A"), leaf("B"))
    assert made.form == (("A", "plus", ""), ("B", "minus", ""))
    assert subtract(leaf("A"), leaf("A")).form is None


def test_the_reciprocal_of_a_sum_is_not_taken_at_magnitudes() -> None:
    assert reciprocal(add(leaf("A"), leaf("B"))).form is None
    assert reciprocal(leaf("A")).form == leaf("A").form


def test_either_of_two_has_the_larger_error() -> None:
    x, y = as_type(leaf("A"), bf16), as_type(leaf("A"), f16)
    assert join(x, y).last == x.last


@pytest.mark.parametrize(("x", "y", "z"), [(0.1, 3.0, 7.0), (2.0**-24, 1e3, 0.3)])
def test_magnitudes_round_up(x: float, y: float, z: float) -> None:
    k = atom("size", "K")
    made = (constant(x) * k + constant(y)).times(z)
    exact = (Fraction(x) * 11 + Fraction(y)) * Fraction(z)
    assert Fraction(made.at({("size", "K"): 11.0})) >= exact
    assert made.largest(k).at({("size", "K"): 11.0}) >= max(float(exact), 11.0)
    assert constant(x).within(constant(x) + k)
    assert not (constant(x) + k).within(constant(x))


def test_powers_and_limits() -> None:
    eps = atom("scalar", "eps")
    assert eps.inverse(1).at({("scalar", "eps"): 1e-4}) == pytest.approx(100.0)
    capped = least(atom("tensor", "X").times(2.0), 160.0)
    assert capped.at({("tensor", "X"): 3.0}) == pytest.approx(6.0)
    assert capped.at({("tensor", "X"): 1e9}) == pytest.approx(160.0)
    assert isinstance(capped, Magnitude)


def test_a_power_below_a_bar_of_nothing_is_no_bound() -> None:
    under = Magnitude(((((LaunchQuantity("scalar", "eps"), -1),), 1.0),))
    assert under.at({("scalar", "eps"): 0.0}) == float("inf")
    assert 1.99 < under.at({("scalar", "eps"): 0.25}) < 2.01
