"""Functions without an instruction of their own, as programs of those that are rounded correctly or exact.

The hardware's exponential and reciprocal are not used: their last bit is the chip's own. So interpreter and simulated
machine give the same bits, as does a chip that rounds as documented. The usual ways, each with polynomials of f32
coefficients that `python -m bench.elementwise_fits` fits, and with the error that `python -m bench.elementwise_error`
measures:

    exp      x = n*ln(2) + r with n whole and |r| <= ln(2)/2; a polynomial of r; n goes into the exponent
    log      x = m * 2**n with m between sqrt(1/2) and sqrt(2); a polynomial of m - 1; n*ln(2) in two parts
    tanh     near 0 a polynomial, elsewhere 1 - 2/(exp(2x) + 1)
    erf      near 0 a polynomial, elsewhere 1 - exp(-q(x)) with a polynomial q
    sigmoid  e/(1 + e) or 1/(1 + e) with e = exp(-|x|)
    pow      exp2(y * log2(x)), the logarithm and the product as unevaluated sums of two numbers

Special operands follow C's functions of these names: log(0) = -inf, log(-1) is NaN, pow(x, 0) = 1 even for NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from argus.ir.maps.primitives import PRIMITIVES
from argus.ir.maps.program import MapNode, MapProgram
from argus.ir.maps.row import FLOATS, MapFn, Reals, T

LOG2E = float(np.float32(math.log2(math.e)))
LN2_HIGH = 0.693359375
"""Nine bits: its products with exponents are exact."""
LN2_LOW = float(np.float32(math.log(2.0) - LN2_HIGH))
HALF_ROOT = float(np.float32(math.sqrt(0.5)))
TWICE_LOG2E = float(np.float32(2.0 * math.log2(math.e)))
TWICE_LOG2E_LOW = float(np.float32(2.0 * math.log2(math.e) - TWICE_LOG2E))
THIRD = float(np.float32(2.0 / 3.0 * math.log2(math.e)))
THIRD_LOW = float(np.float32(2.0 / 3.0 * math.log2(math.e) - THIRD))

EXP = (0.4999999403953552, 0.16666516661643982, 0.041668280959129333, 0.008369248360395432, 0.001382077462039888)
EXP2 = (
    0.6931471824645996,
    0.24022647738456726,
    0.05550359562039375,
    0.00961849931627512,
    0.0013390969252213836,
    0.0001532926398795098,
)
TANH = (
    -0.33333322405815125,
    0.13332979381084442,
    -0.05392921343445778,
    0.021662577986717224,
    -0.008261582814157009,
    0.0025789118371903896,
    -0.0004537490603979677,
)
LOG = (
    0.3333333134651184,
    -0.2500081956386566,
    0.2000124156475067,
    -0.166234090924263,
    0.14201581478118896,
    -0.1315961331129074,
    0.12762197852134705,
    -0.0763639509677887,
)
ERF_NEAR = (
    0.12837916612625122,
    -0.3761262595653534,
    0.11283575743436813,
    -0.026853099465370178,
    0.005186471622437239,
    -0.000798997760284692,
    7.775308768032119e-05,
)
ERF_FAR = (
    0.0003004283644258976,
    1.1272515058517456,
    0.6378828883171082,
    0.10332765430212021,
    -0.02194066159427166,
    0.0029725271742790937,
    -0.00018883583834394813,
)
ATANH = (0.577080249786377, 0.4118441045284271, 0.33795610070228577)

NEAR_TANH = 0.875
NEAR_ERF = 1.0
"""Where the polynomials around 0 end."""
FAR_TANH, FAR_ERF = 16.0, 4.0
"""The function is 1 in f32 from here on."""
MOST_EXP, LEAST_EXP = 89.0, -104.0
"""exp overflows above and is 0 below."""
MOST_EXP2 = 160.0


def _exp_between(x: MapNode) -> MapNode:
    """exp where nothing is NaN, overflows or vanishes by far."""
    n = x.fma(LOG2E, 0.5).then("floor")
    r = n.fma(-LN2_LOW, n.fma(-LN2_HIGH, x))
    tail = (r * r).fma(r.polynomial(EXP), r)
    return (tail + 1.0).then("ldexp", n)


def _or_nan(x: MapNode, result: MapNode) -> MapNode:
    """NaN where the operand is."""
    return x.then("ne", x).where(x, result)


def _exp(x: MapNode) -> MapNode:
    inside = x.then("max", LEAST_EXP).then("min", MOST_EXP)
    return _or_nan(x, _exp_between(inside))


def _log_reduced(x: MapNode) -> tuple[MapNode, MapNode]:
    """m between sqrt(1/2) and sqrt(2), and whole n, with x = m * 2**n."""
    m, n = x.then("mantissa"), x.then("exponent")
    low = m.then("lt", HALF_ROOT)
    return low.where(m + m, m), low.where(n - 1.0, n)


def _log(x: MapNode) -> MapNode:
    m, n = _log_reduced(x)
    f = m - 1.0
    square = f * f
    tail = (square * f).fma(f.polynomial(LOG), n * LN2_LOW)
    tail = square.fma(-0.5, tail)
    made = n.fma(LN2_HIGH, f + tail)
    made = x.then("eq", math.inf).where(x, made)
    made = x.then("eq", 0.0).where(-math.inf, made)
    made = x.then("lt", 0.0).where(math.nan, made)
    return _or_nan(x, made)


def _tanh(x: MapNode) -> MapNode:
    size = x.then("abs")
    square = x * x
    near = (square * x).fma(square.polynomial(TANH), x)
    e = _exp_between((size + size).then("min", 2.0 * FAR_TANH))
    far = (1.0 - 2.0 / (e + 1.0)).then("copysign", x)
    return _or_nan(x, size.then("lt", NEAR_TANH).where(near, far))


def _erf(x: MapNode) -> MapNode:
    size = x.then("abs")
    square = x * x
    near = x.fma(square.polynomial(ERF_NEAR), x)
    far = (1.0 - _exp_between(-size.then("min", FAR_ERF).polynomial(ERF_FAR))).then("copysign", x)
    return _or_nan(x, size.then("lt", NEAR_ERF).where(near, far))


def _sigmoid(x: MapNode) -> MapNode:
    e = _exp_between((-x.then("abs")).then("max", LEAST_EXP))
    made = x.then("lt", 0.0).where(e, 1.0)
    return _or_nan(x, made / (e + 1.0))


def _log2_in_two(x: MapNode) -> tuple[MapNode, MapNode]:
    """log2 of a positive number as high + low: 2/ln(2) * atanh(f) at f = (m - 1)/(m + 1), as c*f + c/3*f**3 + ...

    f itself is f + rest, and the first two terms are two numbers each.
    """
    m, n = _log_reduced(x)
    above, below = m + 1.0, m - 1.0
    left = m - (above - 1.0)
    f = below / above
    rest = f.then("neg").fma(above, below)
    rest = f.then("neg").fma(left, rest) / above
    first = f * TWICE_LOG2E
    low = f.fma(TWICE_LOG2E_LOW, f.fma(TWICE_LOG2E, -first))
    square = f * f
    low = rest.fma(square.fma(TWICE_LOG2E, TWICE_LOG2E), low)
    cube = square * f
    cube_low = f.fma(f, -square).fma(f, square.fma(f, -cube))
    third = cube * THIRD
    tail = cube.fma(square.fma(square.polynomial(ATANH), THIRD_LOW), cube.fma(THIRD, -third))
    low = cube_low.fma(THIRD, tail) + low
    high = n + first
    low = (first - (high - n)) + low
    both = high + third
    low = (third - (both - high)) + low
    total = both + low
    return total, low - (total - both)


def _pow(x: MapNode, y: MapNode) -> MapNode:
    size = x.then("abs")
    high, low = _log2_in_two(size)
    product = y * high
    rest = y.fma(low, y.fma(high, -product))
    inside = product.then("abs").then("lt", MOST_EXP2)
    rest = inside.where(rest, 0.0)
    product = product.then("max", -MOST_EXP2).then("min", MOST_EXP2)
    n = (product + 0.5).then("floor")
    f = (product - n) + rest
    made = f.fma(f.polynomial(EXP2), 1.0).then("ldexp", n)
    falling = y.then("lt", 0.0)
    made = size.then("eq", 0.0).where(falling.where(math.inf, 0.0), made)
    made = size.then("eq", math.inf).where(falling.where(0.0, math.inf), made)
    made = size.then("eq", 1.0).where(1.0, made)
    whole, half = y.then("floor").then("eq", y), y * 0.5
    odd = half.then("floor").then("ne", half).then("and", whole)
    made = odd.where(made.then("copysign", x), made)
    negative = x.then("lt", 0.0).then("and", size.then("lt", math.inf))
    made = negative.then("and", whole.then("not")).where(math.nan, made)
    made = _or_nan(y, _or_nan(x, made))
    made = x.then("eq", 1.0).where(1.0, made)
    return y.then("eq", 0.0).where(1.0, made)


_NUMPY = {name: row.numpy for name, row in PRIMITIVES.items()}


def _composite(
    name: str,
    arity: int,
    meaning: str,
    write: Callable[..., MapNode],
    ulps: float,
    real: Callable[..., Any] | None = None,
    spec: str = "",
    domain: str = "",
    keeps_zero: bool = False,
) -> MapFn:
    program = MapProgram.traced(arity, write)
    slots = sum(PRIMITIVES[step.fn].slots for step in program.steps)
    return MapFn(
        name,
        arity,
        FLOATS,
        "same",
        meaning,
        lambda *args: program.run(_NUMPY, *args),
        real=real,
        program=program,
        slots=slots,
        spec=spec,
        domain=domain,
        keeps_zero=keeps_zero,
        ulps=ulps,
        inputs=MEASURED,
        exposed=True,
    )


def _scaled(a: Reals[T], x: T, factor: float) -> T:
    return a.multiply(a.constant(factor), x)


def _sigmoid_real(a: Reals[T], x: T) -> T:
    return a.power(a.add(a.constant(1.0), a.exp2(_scaled(a, x, -math.log2(math.e)))), -2)


MEASURED = 1 << 24
"""Inputs of `bench.elementwise_error`, which measures the errors stated here."""

COMPOSITES: dict[str, MapFn] = {
    row.name: row
    for row in (
        _composite("exp", 1, "e ** x", _exp, 1.0, lambda a, x: a.exp2(_scaled(a, x, math.log2(math.e))), spec="exp"),
        _composite(
            "log",
            1,
            "the natural logarithm of x",
            _log,
            0.8,
            lambda a, x: _scaled(a, a.log2(x), math.log(2.0)),
            spec="log",
            domain="x > 0",
        ),
        _composite("tanh", 1, "the hyperbolic tangent of x", _tanh, 1.0, spec="tanh", keeps_zero=True),
        _composite("erf", 1, "the error function of x", _erf, 1.0, spec="erf", keeps_zero=True),
        _composite("sigmoid", 1, "1 / (1 + e ** -x)", _sigmoid, 2.2, _sigmoid_real),
        _composite("pow", 2, "x ** y", _pow, 1.0, spec="pow", domain="x > 0, or x = 0 and y > 0, or x < 0 and y whole"),
    )
}
