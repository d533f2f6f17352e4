"""The elementwise functions of specifications, one row each: what they are on real numbers, and how errors pass them.

    FUNCTIONS["tanh"].value(x)              float64
    FUNCTIONS["tanh"].error((x,), (e,))     how far tanh(x') may be from tanh(x) where |x' - x| <= e

`ulps` is how far, in units in the last place of f32, a kernel's own version of the function may be from the real one:
the judge allows it, and the compiler's version keeps it (`argus.ir.maps`). To add a function, add a row: reader,
printer, evaluation and documentation take it from here, and the checker treats it as a function it knows nothing about
but its name until its terms say more.

Selections (`maximum`, `minimum`) and `abs` round nothing: their error is that of their arguments, and of whole numbers
they make whole numbers (`keeps_whole`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import erf, pi, sqrt
from math import log as natural

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Arrays = tuple[Array, ...]

UNIT_F32 = 2.0**-24
HARDWARE_ULPS = 2.0  # exp2, log2, rcp, rsqrt of the hardware are within this many ulps
TINY = float(np.finfo(np.float64).tiny)
LOG_2 = natural(2.0)


@dataclass(frozen=True, slots=True)
class RealFunction:
    """`value` and `error` take one array per argument; `error` leaves out what the function itself rounds (`ulps`)."""

    name: str
    arity: int
    value: Callable[..., Array]
    error: Callable[[Arrays, Arrays], Array]
    ulps: float = HARDWARE_ULPS
    keeps_whole: bool = False

    def whole(self, *args: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Of whole numbers, where it makes whole numbers of them."""
        return np.asarray(self.value(*args), dtype=np.int64)


def _smooth(slope: Callable[[Array, Array], Array]) -> Callable[[Arrays, Arrays], Array]:
    """The error of a function of one argument by its steepest slope within the error of the argument."""
    return lambda xs, es: np.asarray(slope(xs[0], es[0]) * es[0])


def _selected(xs: Arrays, es: Arrays) -> Array:
    return np.maximum(*es)


def _exp_error(xs: Arrays, es: Arrays) -> Array:
    """exp(x) is exp2(x log2 e) on the hardware: the constant and the product are rounded, so the exponent is off by
    2 u |x|."""
    (x,), (e,) = xs, es
    off = e + 2 * UNIT_F32 * np.where(np.isfinite(x), np.abs(x), 0.0)
    return np.asarray(np.exp(x + off) * off)


def _exp2(x: Array, e: Array) -> Array:
    return np.asarray(np.exp2(x + e) * LOG_2)


def _log2(x: Array, e: Array) -> Array:
    return np.asarray(1.0 / (np.maximum(x - e, TINY) * LOG_2))


def _log(x: Array, e: Array) -> Array:
    return np.asarray(1.0 / np.maximum(x - e, TINY))


def _sqrt(x: Array, e: Array) -> Array:
    return np.asarray(0.5 / np.sqrt(np.maximum(x - e, TINY)))


def _rsqrt(x: Array, e: Array) -> Array:
    return np.asarray(0.5 * np.maximum(x - e, TINY) ** -1.5)


def _tanh(x: Array, e: Array) -> Array:
    """1 - tanh² is largest nearest to zero."""
    return np.asarray(1.0 / np.cosh(np.minimum(np.maximum(np.abs(x) - e, 0.0), 350.0)) ** 2)


def _erf_slope(x: Array, e: Array) -> Array:
    return np.asarray(2.0 / sqrt(pi) * np.exp(-(np.maximum(np.abs(x) - e, 0.0) ** 2)))


def _inverse_rsqrt(x: Array) -> Array:
    return np.asarray(1.0 / np.sqrt(x))


def _power_error(xs: Arrays, es: Arrays) -> Array:
    """x ** y for positive x as exp2(y log2 x), steepest at the ends of both intervals; the exponent is rounded too."""
    (x, y), (ex, ey) = xs, es
    low, high = np.maximum(x - ex, TINY), np.maximum(x + ex, TINY)
    ends = [np.power(a, b) for a in (low, high) for b in (y - ey, y + ey)]
    largest = np.maximum.reduce(ends)
    steepest = (np.abs(y) + ey) / low * ex + np.maximum(np.abs(np.log(low)), np.abs(np.log(high))) * ey
    rounded = 2 * HARDWARE_ULPS * UNIT_F32 * np.abs(y * np.log(np.maximum(x, TINY)))
    return np.asarray(largest * (np.where((ex == 0) & (ey == 0), 0.0, steepest) + rounded))


def _floored(xs: Arrays, es: Arrays) -> Array:
    (x,), (e,) = xs, es
    return np.asarray(np.maximum(np.floor(x + e) - np.floor(x), np.floor(x) - np.floor(x - e)))


def _erf(x: Array) -> Array:
    """The error function, within 2e-16 of the real one."""
    return np.asarray(_ERF(x), dtype=np.float64)


_ERF = np.frompyfunc(erf, 1, 1)

FUNCTIONS: dict[str, RealFunction] = {
    row.name: row
    for row in (
        RealFunction("exp", 1, np.exp, _exp_error),
        RealFunction("exp2", 1, np.exp2, _smooth(_exp2)),
        RealFunction("log", 1, np.log, _smooth(_log)),
        RealFunction("log2", 1, np.log2, _smooth(_log2)),
        RealFunction("sqrt", 1, np.sqrt, _smooth(_sqrt)),
        RealFunction("rsqrt", 1, _inverse_rsqrt, _smooth(_rsqrt)),
        RealFunction("floor", 1, np.floor, _floored, 0.0, True),
        RealFunction("abs", 1, np.abs, lambda xs, es: es[0], 0.0, True),
        RealFunction("tanh", 1, np.tanh, _smooth(_tanh)),
        RealFunction("erf", 1, _erf, _smooth(_erf_slope)),
        RealFunction("pow", 2, np.power, _power_error),
        RealFunction("maximum", 2, np.maximum, _selected, 0.0, True),
        RealFunction("minimum", 2, np.minimum, _selected, 0.0, True),
    )
}
