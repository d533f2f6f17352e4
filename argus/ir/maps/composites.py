"""Functions without an instruction of their own, as programs of those that are rounded correctly or exact.

The hardware's exponential and reciprocal are not used: their last bit is the chip's own. So interpreter, simulated
machine and chip give the same bits. The usual ways, each with polynomials of f32 coefficients that
`python -m bench.elementwise_fits` fits, and with the error that `python -m bench.elementwise_error` measures:

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
from argus.ir.maps.program import MapProgram, Node
from argus.ir.maps.row import FLOATS, MapFn, Reals, T

LOG2E = float(np.float32(math.log2(math.e)))
LN2_HIGH = 0.693359375
"""Nine bits: its products with exponents are exact."""
LN2_LOW = float(np.float32(math.log(2.0) - LN2_HIGH))
HALF_ROOT = float(np.float32(math.sqrt(0.5)))
TWICE_LOG2E = float(np.float32(2.0 * math.log2(math.e)))
TWICE_LOG2E_LOW = float(np.float32(2.0 * math.log2(math.e) - TWICE_LOG2E))

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
    -0.33333271741867065,
    0.1333114355802536,
    -0.053713347762823105,
    0.020549319684505463,
    -0.005601347889751196,
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
    -0.3761262893676758,
    0.11283624917268753,
    -0.02685566432774067,
    0.005192210897803307,
    -0.000804756477009505,
    7.988239667611197e-05,
)
ERF_FAR = (
    0.0001664390874793753,
    1.127797245979309,
    0.6369761228561401,
    0.1041136160492897,
    -0.02231517806649208,
    0.0030654834117740393,
    -0.00019821955356746912,
)
ATANH = (0.9617967009544373, 0.5770788788795471, 0.41192129254341125, 0.33663222193717957)

NEAR_TANH = 0.625
NEAR_ERF = 0.921875
"""Where the polynomials around 0 end."""
FAR_TANH, FAR_ERF = 16.0, 4.0
"""The function is 1 in f32 from here on."""
MOST_EXP, LEAST_EXP = 89.0, -104.0
"""exp overflows above and is 0 below."""
MOST_EXP2 = 160.0


def _exp_between(x: Node) -> Node:
    """exp where nothing is NaN, overflows or vanishes by far."""
    n = x.fma(LOG2E, 0.5).then("floor")
    r = n.fma(-LN2_LOW, n.fma(-LN2_HIGH, x))
    tail = (r * r).fma(r.polynomial(EXP), r)
    return (tail + 1.0).then("ldexp", n)


def _or_nan(x: Node, result: Node) -> Node:
    """NaN where the operand is."""
    return x.then("ne", x).where(x, result)


def _exp(x: Node) -> Node:
    inside = x.then("max", LEAST_EXP).then("min", MOST_EXP)
    return _or_nan(x, _exp_between(inside))


def _log_reduced(x: Node) -> tuple[Node, Node]:
    """m between sqrt(1/2) and sqrt(2), and whole n, with x = m * 2**n."""
    m, n = x.then("mantissa"), x.then("exponent")
    low = m.then("lt", HALF_ROOT)
    return low.where(m + m, m), low.where(n - 1.0, n)


def _log(x: Node) -> Node:
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


def _tanh(x: Node) -> Node:
    size = x.then("abs")
    square = x * x
    near = (square * x).fma(square.polynomial(TANH), x)
    e = _exp_between((size + size).then("min", 2.0 * FAR_TANH))
    far = (1.0 - 2.0 / (e + 1.0)).then("copysign", x)
    return _or_nan(x, size.then("lt", NEAR_TANH).where(near, far))


def _erf(x: Node) -> Node:
    size = x.then("abs")
    square = x * x
    near = x.fma(square.polynomial(ERF_NEAR), x)
    far = (1.0 - _exp_between(-size.then("min", FAR_ERF).polynomial(ERF_FAR))).then("copysign", x)
    return _or_nan(x, size.then("lt", NEAR_ERF).where(near, far))


def _sigmoid(x: Node) -> Node:
    e = _exp_between((-x.then("abs")).then("max", LEAST_EXP))
    made = x.then("lt", 0.0).where(e, 1.0)
    return _or_nan(x, made / (e + 1.0))


def _log2_in_two(x: Node) -> tuple[Node, Node]:
    """log2 of a positive number as high + low."""
    m, n = _log_reduced(x)
    above, below = m + 1.0, m - 1.0
    left = m - (above - 1.0)
    f = below / above
    rest = f.then("neg").fma(above, below)
    rest = f.then("neg").fma(left, rest) / above
    square = f * f
    a = f * TWICE_LOG2E
    low = f.fma(TWICE_LOG2E, -a)
    low = rest.fma(TWICE_LOG2E, f.fma(TWICE_LOG2E_LOW, low))
    low = (square * f).fma(square.polynomial(ATANH), low)
    high = n + a
    low = (a - (high - n)) + low
    total = high + low
    return total, low - (total - high)


def _pow(x: Node, y: Node) -> Node:
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
    write: Callable[..., Node],
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
        _composite("exp", 1, "e ** x", _exp, 9.9, lambda a, x: a.exp2(_scaled(a, x, math.log2(math.e))), spec="exp"),
        _composite(
            "log",
            1,
            "the natural logarithm of x",
            _log,
            9.9,
            lambda a, x: _scaled(a, a.log2(x), math.log(2.0)),
            spec="log",
            domain="x > 0",
        ),
        _composite("tanh", 1, "the hyperbolic tangent of x", _tanh, 9.9, spec="tanh", keeps_zero=True),
        _composite("erf", 1, "the error function of x", _erf, 9.9, spec="erf", keeps_zero=True),
        _composite("sigmoid", 1, "1 / (1 + e ** -x)", _sigmoid, 9.9, _sigmoid_real),
        _composite("pow", 2, "x ** y", _pow, 9.9, spec="pow", domain="x > 0, or x = 0 and y > 0, or x < 0 and y whole"),
    )
}
