"""Coefficients of the composite elementwise functions (`argus.ir.maps.composites`), fitted anew.

    python -m bench.elementwise_fits

Each polynomial is fitted in float64 by weighted least squares on Chebyshev points, which is close to the best fit in
the largest error. Its coefficients are then rounded to f32 one by one, lowest first, and the rest is fitted again each
time. The command prints the lines of the module and the largest error of each fit, in units of f32's roundoff, before
any rounding of the evaluation. What the functions are off by in the end is measured by `bench.elementwise_error`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
POINTS = 4000
UNIT = 2.0**-24


@dataclass(frozen=True, slots=True)
class Fit:
    """`target(t) ~ sum c[i] * t**i`, `t` between `low` and `high`; an error counts `weight(t)`."""

    name: str
    degree: int
    low: float
    high: float
    target: Callable[[Array], Array]
    weight: Callable[[Array], Array]


def _series(first: int, terms: int, coefficient: Callable[[int], float]) -> Callable[[Array], Array]:
    """Power series from a power on, where closed forms would cancel."""
    return lambda t: sum((coefficient(first + n) * t**n for n in range(terms)), np.zeros_like(t))


def _erf(x: Array) -> Array:
    return np.array([math.erf(v) for v in x.ravel()]).reshape(x.shape)


def _erfc(x: Array) -> Array:
    return np.array([math.erfc(v) for v in x.ravel()]).reshape(x.shape)


def _log_tail(f: Array) -> Array:
    """(log(1 + f) - f + f*f/2) / f**3"""
    return sum(((-1.0) ** n * f**n / (n + 3) for n in range(120)), np.zeros_like(f))


def _tanh_tail(s: Array) -> Array:
    """(tanh(x) - x) / x**3 at s = x*x"""
    x = np.sqrt(np.maximum(s, 1e-12))
    near = -1 / 3 + s * (2 / 15) - s**2 * (17 / 315) + s**3 * (62 / 2835)
    return np.where(s < 1e-3, near, (np.tanh(x) - x) / (x * x * x))


def _erf_tail(s: Array) -> Array:
    """erf(x)/x - 1 at s = x*x"""
    x = np.sqrt(np.maximum(s, 1e-12))
    return np.where(s < 1e-10, 2 / math.sqrt(math.pi) - 1, _erf(x) / x - 1)


def _atanh_tail(s: Array) -> Array:
    """(atanh(f) - f) / f**3 * 2/ln(2) at s = f*f"""
    return sum((s**n / (2 * n + 3) for n in range(40)), np.zeros_like(s)) * (2 / math.log(2))


FITS = (
    Fit(
        "EXP",
        4,
        -0.35,
        0.35,
        _series(2, 20, lambda n: 1 / math.factorial(n)),
        lambda r: r * r / np.exp(r),
    ),
    Fit(
        "EXP2",
        5,
        -0.5,
        0.5,
        _series(1, 24, lambda n: math.log(2) ** n / math.factorial(n)),
        lambda f: np.abs(f) / np.exp2(f) + 1e-6,
    ),
    Fit("TANH", 4, 0.0, 0.64**2, _tanh_tail, lambda s: s),
    Fit("LOG", 7, math.sqrt(0.5) - 1, math.sqrt(2.0) - 1, _log_tail, lambda f: np.abs(f**3 / np.log1p(f))),
    Fit("ERF_NEAR", 6, 0.0, 0.95**2, _erf_tail, lambda s: np.ones_like(s)),
    Fit("ERF_FAR", 6, 0.9, 4.0, lambda t: -np.log(_erfc(t)), lambda t: _erfc(t) / _erf(t)),
    Fit("ATANH", 3, 0.0, 0.172**2, _atanh_tail, lambda s: s),
)


def fitted(fit: Fit) -> tuple[list[float], float]:
    """Coefficients that are f32 numbers, and the largest weighted error."""
    angle = (np.arange(POINTS) + 0.5) * np.pi / POINTS
    t = (fit.low + fit.high) / 2 + (fit.high - fit.low) / 2 * np.cos(angle)
    weight, target = fit.weight(t), fit.target(t)
    chosen: list[float] = []
    for n in range(fit.degree + 1):
        powers = np.stack([t**i for i in range(n, fit.degree + 1)], axis=1)
        left = target - sum((c * t**i for i, c in enumerate(chosen)), np.zeros_like(t))
        found = _minimax(powers, left, weight)
        chosen.append(float(np.float32(found[0])))
    error = target - sum((c * t**i for i, c in enumerate(chosen)), np.zeros_like(t))
    return chosen, float(np.abs(error * weight).max()) / UNIT


def _minimax(powers: Array, target: Array, weight: Array) -> Array:
    """Least squares, weighted again where the error is large (Lawson), so that the largest error goes down."""
    lawson = np.ones_like(target)
    best, least = None, math.inf
    for _ in range(60):
        scale = weight * np.sqrt(lawson)
        found = np.linalg.lstsq(powers * scale[:, None], target * scale, rcond=None)[0]
        error = np.abs((powers @ found - target) * weight)
        if error.max() < least:
            best, least = found, float(error.max())
        lawson = lawson * (error + 1e-30)
        lawson /= lawson.mean()
    assert best is not None
    return np.asarray(best)


def main() -> None:
    for fit in FITS:
        chosen, error = fitted(fit)
        print(f"{fit.name} = ({', '.join(repr(c) for c in chosen)})")
        print(f"# largest error {error:.4f} units of roundoff, between {fit.low:.4g} and {fit.high:.4g}")


if __name__ == "__main__":
    main()
