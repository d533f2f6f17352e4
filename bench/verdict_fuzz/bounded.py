"""Real numbers with a bound on what f32 arithmetic may have done to them: numpy only, nothing of Argus.

    x = given(np.array([0.1, 3.0]))        exact inputs
    y = call("mul", x, x)                  y.value = 0.01, 9.0 and y.error >= one rounding of f32

An element whose value is not finite, leaves f32, or is not determined (an argument whose error reaches a pole) has an
infinite error and is never judged. Bounds are outward: every operation adds UNITS roundings more than it makes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ROUNDING = 2.0**-24
TINY = 2.0**-126
LARGEST = 1e38
UNITS = 4.0
"""Roundings charged for one function of the chip, which states one unit in the last place."""


@dataclass(frozen=True, slots=True)
class Real:
    """Elements in float64, and how far an f32 computation may be from each."""

    value: Array
    error: Array


def given(value: NDArray[Any] | np.float64) -> Real:
    exact = np.asarray(value, dtype=np.float64)
    return Real(exact, np.zeros_like(exact))


def constant(value: float) -> Real:
    """A constant as f32 has it: off by at most half a unit in the last place."""
    exact = np.float64(np.float32(value)) == value
    return Real(np.asarray(value, dtype=np.float64), np.asarray(0.0 if exact else abs(value) * ROUNDING))


def rounded(value: Array, error: Array, units: float = 1.0) -> Real:
    """One more rounding; what leaves f32 is no longer judged."""
    magnitude = np.abs(value) + error
    error = error + units * (magnitude * ROUNDING + TINY)
    lost = ~np.isfinite(value) | ~np.isfinite(error) | (magnitude > LARGEST)
    return Real(value, np.where(lost, np.inf, error))


def _add(x: Real, y: Real) -> Real:
    return rounded(x.value + y.value, x.error + y.error)


def _sub(x: Real, y: Real) -> Real:
    return rounded(x.value - y.value, x.error + y.error)


def _mul(x: Real, y: Real) -> Real:
    error = np.abs(x.value) * y.error + np.abs(y.value) * x.error + x.error * y.error
    return rounded(x.value * y.value, error)


def _rcp(x: Real) -> Real:
    least = np.abs(x.value) - x.error
    safe = np.where(least > 0, least, np.nan)
    return rounded(1 / x.value, x.error / (np.abs(x.value) * safe), UNITS)


def _div(x: Real, y: Real) -> Real:
    return _mul(x, _rcp(y))


def _fma(x: Real, y: Real, z: Real) -> Real:
    return _add(_mul(x, y), z)


def _neg(x: Real) -> Real:
    return Real(-x.value, x.error)


def _abs(x: Real) -> Real:
    return Real(np.abs(x.value), x.error)


def _max(x: Real, y: Real) -> Real:
    return Real(np.maximum(x.value, y.value), np.maximum(x.error, y.error))


def _min(x: Real, y: Real) -> Real:
    return Real(np.minimum(x.value, y.value), np.maximum(x.error, y.error))


def _floor(x: Real) -> Real:
    low, high = np.floor(x.value - x.error), np.floor(x.value + x.error)
    return Real(np.floor(x.value), high - low)


def _monotone(function: Callable[[Array], Array]) -> Callable[[Real], Real]:
    """A growing function: the ends of the interval are its worst."""

    def apply(x: Real) -> Real:
        middle, low, high = function(x.value), function(x.value - x.error), function(x.value + x.error)
        return rounded(middle, np.maximum(high - middle, middle - low), UNITS)

    return apply


def _falling(function: Callable[[Array], Array]) -> Callable[[Real], Real]:
    def apply(x: Real) -> Real:
        middle, low, high = function(x.value), function(x.value + x.error), function(x.value - x.error)
        return rounded(middle, np.maximum(high - middle, middle - low), UNITS)

    return apply


def _erf(x: Array) -> Array:
    from math import erf

    return np.vectorize(erf, otypes=[np.float64])(x) if x.size else np.asarray(x)


def choose(condition: NDArray[np.bool_], yes: Real, no: Real) -> Real:
    return Real(np.where(condition, yes.value, no.value), np.where(condition, yes.error, no.error))


def _where_gt(x: Real, y: Real, yes: Real, no: Real) -> Real:
    """yes where x > y; where the comparison is within its error, either."""
    open_question = np.abs(x.value - y.value) <= x.error + y.error
    open_question &= (x.error + y.error) > 0
    picked = choose(x.value > y.value, yes, no)
    either = np.abs(yes.value - no.value) + np.maximum(yes.error, no.error)
    return Real(picked.value, np.where(open_question, either, picked.error))


FUNCTIONS: dict[str, Callable[..., Real]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "rcp": _rcp,
    "fma": _fma,
    "neg": _neg,
    "abs": _abs,
    "max": _max,
    "min": _min,
    "floor": _floor,
    "exp": _monotone(np.exp),
    "exp2": _monotone(np.exp2),
    "log": _monotone(np.log),
    "log2": _monotone(np.log2),
    "sqrt": _monotone(np.sqrt),
    "rsqrt": _falling(lambda x: 1 / np.sqrt(x)),
    "tanh": _monotone(np.tanh),
    "erf": _monotone(_erf),
    "sigmoid": _monotone(lambda x: 1 / (1 + np.exp(-x))),
    "where_gt": _where_gt,
}


def call(name: str, *args: Real) -> Real:
    with np.errstate(all="ignore"):
        return FUNCTIONS[name](*args)


def total(x: Real, axis: int) -> Real:
    """A sum in any order: each element takes part in at most n - 1 roundings of partial sums."""
    n = x.value.shape[axis]
    weight = np.abs(x.value) + x.error
    error = x.error.sum(axis) + n * ROUNDING * 1.01 * weight.sum(axis) + n * TINY
    value = x.value.sum(axis)
    lost = ~np.isfinite(value) | ~np.isfinite(error) | (weight.sum(axis) > LARGEST)
    return Real(value, np.where(lost, np.inf, error))


def largest(x: Real, axis: int) -> Real:
    return Real(x.value.max(axis), x.error.max(axis))


def least(x: Real, axis: int) -> Real:
    return Real(x.value.min(axis), x.error.max(axis))


def spread(x: Real, axis: int) -> Real:
    """A value per row as one that meets every element of the row."""
    return Real(np.expand_dims(x.value, axis), np.expand_dims(x.error, axis))
