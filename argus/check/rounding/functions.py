"""Elementwise functions of rounded values: what the row's function does to magnitude and error, then its own rounding.

    exp2(x)      |x| <= 160, else the result overflows or vanishes: relative error ln(2) * (absolute error of x)
    log2(x)      absolute error (relative error of x) / ln(2)
    tanh, erf    |x f'(x) / f(x)| <= 1: the relative error stays
    max, min     the larger error of both: they change by no more than their operands

**Maxima that cancel.** The running maximum of online softmax is taken over computed scores. What is subtracted does not
matter, as the proof has shown with a name in its place: the same number is subtracted from all exponents of a row. So
the real run that errors are measured from may use the *computed* maxima (`oracle`), which then have no error. That is
right only if every output is free of them: `degree` is 0 wherever something is stored, else the walk is repeated
without it. By the same proof the exponents are at most 0, and one of them is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import log

from argus.check.rounding.arithmetic import (
    EXPANSION,
    LEAST_NORMAL,
    SCALE,
    absolute,
    add,
    as_type,
    grown,
    multiply,
    negative,
    positive_form,
    reciprocal,
    relative,
    rounded,
    square_root,
    subtract,
)
from argus.check.rounding.magnitudes import NOTHING, constant, least, up
from argus.check.rounding.rounded_value import Form, NoRuleError, RoundedValue
from argus.ir.maps import MAPS
from argus.ir.types import DType

LN2 = up(log(2.0))
LARGEST_EXPONENT = 160.0
LARGEST_LOGARITHM = 33.0
"""|log2| of a sum of fewer than 2^32 weights, one of which is at least a half."""
ERF_SLOPE = 1.1284


def apply(
    fn: str, args: tuple[RoundedValue, ...], dtype: DType, same: bool, oracle: bool, dominated: bool
) -> RoundedValue:
    """The value of an elementwise function, rounded as its row says. `same`: the first two operands are one value.
    `dominated`: a maximum that is subtracted is one over what it is subtracted from."""
    if dtype.kind != "float":
        return _whole(fn, args, same)
    if fn in EXPONENTIALS:
        if dtype.bits > F32_BITS:
            raise NoRuleError(f"{fn} of f64 has no error rule")
        if args[0].downs and not dominated:
            unknown = replace(args[0], downs=0, degree=None)
            return replace(apply(fn, (unknown,), dtype, same, oracle, True), exponential=False)
    match fn, args:
        case "add", (x, y):
            return _once(add(x, y), dtype)
        case "sub", (x, y):
            return _once(subtract(x, y), dtype)
        case "mul", (x, y):
            made = multiply(x, y, same)
            return made if x.number in (1.0, -1.0) or y.number in (1.0, -1.0) else _once(made, dtype)
        case "fma", (x, y, z):
            return _once(add(multiply(x, y, same), z), dtype)
        case "div", (x, y):
            return _once(multiply(x, reciprocal(y)), dtype)
        case (("max" | "min"), (x, y)):
            return extreme(x, y, oracle, fn == "max")
        case _, (x,):
            rule = ONE_OPERAND.get(fn)
            if rule is not None:
                made = rule(x)
                ulps = MAPS[fn].ulps
                if not ulps or made is x:
                    return made
                if ulps == 0.5:
                    return _once(made, dtype)
                unit = 2.0 * ulps * 2.0**-24 if dtype.bits <= 32 else 2.0 * ulps * 2.0**-53
                made = rounded(made, unit, LEAST_NORMAL)
                return made if dtype.bits >= 32 else as_type(made, dtype)
    if all(x.exact for x in args) and fn in EXACT:
        return _opaque(args)
    raise NoRuleError(f"{fn} has no error rule")


def _once(x: RoundedValue, dtype: DType) -> RoundedValue:
    return as_type(x, dtype)


EXPONENTIALS = frozenset({"exp", "exp2", "sigmoid"})
F32_BITS = 32
EXACT = frozenset({"floor", "mantissa", "exponent", "copysign", "ldexp"})


def _opaque(args: tuple[RoundedValue, ...]) -> RoundedValue:
    """An exact number nothing more is known of."""
    return RoundedValue(form=None, size=None, monomial=False, inputs=frozenset().union(*(x.inputs for x in args)))


def _whole(fn: str, args: tuple[RoundedValue, ...], same: bool) -> RoundedValue:
    """Integers wrap as the specification's do: they have no error."""
    match fn, args:
        case "add", (x, y):
            return add(x, y)
        case "mul", (x, y):
            return multiply(x, y, same)
        case "neg", (x,):
            return negative(x)
    return _opaque(args)


def extreme(x: RoundedValue, y: RoundedValue, oracle: bool, largest: bool = True) -> RoundedValue:
    """max (`largest`) or min. Of positive factors of both operands both are monotonic, so relative errors stay."""
    if x.absent or y.absent:
        found = y if x.absent else x
        return replace(found, ups=max(1, found.ups), form=None, monomial=False) if found.own else found
    exact = x.exact and y.exact
    x, y = absolute(x), absolute(y)
    size = None if x.size is None or y.size is None else x.size.largest(y.size)
    if largest:
        low, nonnegative = x.least if y.least is None else y.least, x.nonnegative or y.nonnegative
    else:
        low, nonnegative = x.least if x.least == y.least else None, x.nonnegative and y.nonnegative
    theta, alpha = x.total.largest(y.total), x.alpha.largest(y.alpha)
    if oracle and largest and not exact:
        theta = alpha = NOTHING
    degree = x.degree if x.degree == y.degree else None
    return RoundedValue(
        None, 1, True, theta, 0.0, alpha, size=size, least=low, nonnegative=nonnegative,
        ups=int(largest), downs=0, degree=degree, monomial=False, summed=x.summed or y.summed,
        exponential=x.exponential or y.exponential, products=max(x.products, y.products), inputs=x.inputs | y.inputs,
    )  # fmt: skip


def _exponential(x: RoundedValue, slope: float) -> RoundedValue:
    """slope: the derivative of the logarithm."""
    if x.infinite:
        return RoundedValue(number=0.0)
    x = absolute(x)
    theta = (grown(x.total) * least(x.size, LARGEST_EXPONENT) + x.alpha).times(slope) if not x.exact else NOTHING
    even = {t for t, status, _ in x.form or () if status == "even"}
    form: Form = tuple((t, "even" if t in even else "raw", "even" if t in even else "") for t in sorted(x.inputs))
    dominated = x.downs > 0
    degree = None if x.degree != 0 else x.ups - x.downs
    return RoundedValue(
        form, 1, True, theta, 0.0, NOTHING, size=constant(1.0) if dominated else None, nonnegative=True,
        degree=degree, monomial=True, weights=dominated and x.ups == 0, exponential=not dominated, inputs=x.inputs,
    )  # fmt: skip


def _logarithm(x: RoundedValue, slope: float) -> RoundedValue:
    x = absolute(x)
    low = constant(0.5) if x.weights else x.least
    alpha = x.total
    if x.alpha:
        if low is None:
            raise NoRuleError("the logarithm of what may be near zero")
        alpha = alpha + (x.alpha * low.inverse()).times(2.0)
    degree = x.degree or 0
    return RoundedValue(
        None, 1, True, NOTHING, 0.0, alpha.times(slope * SCALE),
        size=constant(LARGEST_LOGARITHM * max(1.0, slope * LN2)) if x.weights else None,
        ups=max(degree, 0), downs=max(-degree, 0), degree=0 if x.degree is not None else None, monomial=False,
        inputs=x.inputs,
    )  # fmt: skip


def _magnitude(x: RoundedValue) -> RoundedValue:
    if x.absent or x.number is not None:
        return replace(x, absent=x.absent, number=None if x.number is None else abs(x.number), nonnegative=True, sign=1)
    if x.own:
        made = replace(x, nonnegative=True)
        if x.monomial and x.form is not None:
            form: Form = tuple((t, "even", "even") if s in ("plus", "minus") else (t, s, p) for t, s, p in x.form)
            return replace(made, form=form, sign=1)
        return positive_form(made)
    forms: Form = tuple((t, s, "even") for t, s, _ in x.form or ())
    return replace(x, nonnegative=True, sign=1, form=forms)


def _odd_bounded(slope: float, size: float) -> Callable[[RoundedValue], RoundedValue]:
    """An odd function with |f| <= size, |f'| <= slope and |x f' / f| <= 1."""

    def rule(x: RoundedValue) -> RoundedValue:
        x = absolute(x)
        form = x.form if x.monomial and not x.summed else None
        return replace(
            x, theta=x.total, last=0.0, alpha=x.alpha.times(slope), size=constant(size), least=None, form=form,
            degree=0 if not (x.ups or x.downs) and x.degree == 0 else None, number=None, monomial=form is not None,
        )  # fmt: skip

    return rule


def _sigmoid(x: RoundedValue) -> RoundedValue:
    made = _exponential(replace(x, downs=0, ups=0, degree=0 if not (x.ups or x.downs) else None), 1.0)
    return replace(made, size=constant(1.0), exponential=False)


ONE_OPERAND: dict[str, Callable[[RoundedValue], RoundedValue]] = {
    "neg": negative,
    "abs": _magnitude,
    "exp2": lambda x: _exponential(x, LN2),
    "exp": lambda x: _exponential(x, 1.0),
    "log2": lambda x: _logarithm(x, 1 / log(2.0)),
    "log": lambda x: _logarithm(x, 1.0),
    "rcp": reciprocal,
    "sqrt": lambda x: square_root(x, False),
    "rsqrt": lambda x: square_root(x, True),
    "tanh": _odd_bounded(1.0, 1.0),
    "erf": _odd_bounded(ERF_SLOPE, 1.0),
    "sigmoid": _sigmoid,
}


def matrix_product(
    a: RoundedValue, b: RoundedValue, c: RoundedValue, terms: int, exact_products: bool, dtype: DType
) -> RoundedValue:
    """c + sum of `terms` products, added in any order, each addition off by up to a unit in the last place: neither
    the order nor the rounding inside an instruction is published."""
    product = multiply(a, b)
    if dtype.kind != "float":
        return add(replace(product, size=None), c)
    unit = relative(2.0**-23 if dtype.bits <= 32 else 2.0**-52)
    if not exact_products:
        product = as_type(product, dtype)
    partial = replace(
        product, size=None if product.size is None else product.size.times(terms), monomial=False, summed=True,
        own=product.own and product.nonnegative, theta=product.total, last=0.0, number=None,
        alpha=product.alpha.times(terms) + constant(SCALE * (terms + 1) * LEAST_NORMAL),
    )  # fmt: skip
    if not partial.own and partial.form is None:
        partial = absolute(partial)
    total = add(partial, c)
    if total.form is None and not total.nonnegative:
        if total.size is None:
            raise NoRuleError("cancellation of what has no largest magnitude")
        more = (total.size + total.alpha).times(terms * unit * EXPANSION)
        return replace(total, alpha=total.alpha + more)
    return replace(total, theta=total.theta + constant(terms * unit), own=total.own and total.nonnegative)
