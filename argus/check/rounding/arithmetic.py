"""Sums, products, quotients, roots and roundings of rounded values. See `rounded_value` for what is kept.

sum         theta is the larger one: each addend keeps its own error. If it is neither a sum of what is not negative
            nor follows the specification's form, relative error becomes absolute (cancellation)
product     theta adds up, and so do the logarithms of all factors' errors
1/x, sqrt   theta stays, or is halved; absolute error needs to know how small x may be
rounding    + u, and half of the smallest number of the type
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import log1p

from argus.check.rounding.magnitudes import NOTHING, Magnitude, constant, up
from argus.check.rounding.rounded_value import Form, NoRuleError, Parity, RoundedValue, Status
from argus.ir.float_formats import FORMATS
from argus.ir.types import DType

SMALL = 0.125
"""Relative errors are used where they are below this; the bound of a launch where they are not is infinite."""
EXPANSION = 1.07
"""e^t - 1 <= 1.07 * t, and e^t <= 1.14, up to SMALL."""
SCALE = 1.14
LEAST_NORMAL = 2.0**-126
TABLE = 1 << 16


def relative(unit: float) -> float:
    """|log(1 + d)| for |d| <= unit."""
    return up(-log1p(-unit))


def unit_of(dtype: DType, toward_zero: bool = False) -> float:
    """The largest relative error of rounding to a type."""
    return 2.0 ** -(FORMATS[dtype.name].digits - (1 if toward_zero else 0))


def underflow_of(dtype: DType) -> float:
    """The largest absolute error below the normal numbers of a type. Of f32, f64 and bf16 these may be flushed."""
    row = FORMATS[dtype.name]
    return 2.0**row.least if dtype.name in ("f32", "bf16", "f64") else 2.0 ** (row.least - row.digits + 1)


def rounded(x: RoundedValue, unit: float, underflow: float) -> RoundedValue:
    """Rounded once more."""
    if x.zero or x.infinite:
        return x
    alpha = x.alpha + constant(SCALE * underflow)
    return replace(x, theta=x.total, last=relative(unit), alpha=alpha, number=None)


def as_type(x: RoundedValue, dtype: DType, toward_zero: bool = False) -> RoundedValue:
    return rounded(x, unit_of(dtype, toward_zero), underflow_of(dtype))


def read_as_xf32(x: RoundedValue) -> RoundedValue:
    """What an xf32 instruction reads of an f32. The machine rounds to nearest; that the chip does is not published, so
    the bound has a whole unit, which cutting off needs too. Inputs are no subnormal numbers (the premise of `value`);
    computed numbers may be, and vanish."""
    row = FORMATS["xf32"]
    return rounded(x, 2.0 ** -(row.digits - 1), 0.0 if x.exact else 2.0**row.least)


def grown(theta: Magnitude) -> Magnitude:
    """e^theta - 1, where theta is small."""
    return theta.times(EXPANSION)


@lru_cache(TABLE)
def absolute(x: RoundedValue) -> RoundedValue:
    """The same with all error that is not relative to the value itself as absolute error."""
    if x.own:
        return x
    if not x.total:
        return replace(x, own=True)
    if x.size is None:
        raise NoRuleError("cancellation of what has no largest magnitude")
    alpha = x.alpha + grown(x.total) * (x.size + x.alpha)
    return replace(x, own=True, theta=NOTHING, last=0.0, alpha=alpha)


@lru_cache(TABLE)
def add(x: RoundedValue, y: RoundedValue) -> RoundedValue:
    """The exact sum."""
    if x.zero:
        return y
    if y.zero or x.infinite:
        return x
    if y.infinite:
        return y
    if x.degree != y.degree:
        degree = None
    else:
        degree = x.degree
    own = (x.own and y.own and x.nonnegative and y.nonnegative) or (x.exact and y.exact)
    made = _sum_form(x, y)
    theta, alpha = x.total.largest(y.total), x.alpha + y.alpha
    if not own and made is None:
        x, y = absolute(_absolute_error(x)), absolute(_absolute_error(y))
        theta, alpha, own = NOTHING, x.alpha + y.alpha, True
    form, sign = made or (None, 1)
    both = x.nonnegative and y.nonnegative
    return RoundedValue(
        form, sign, own, theta, 0.0, alpha,
        size=None if x.size is None or y.size is None else x.size + y.size,
        least=(y.least if x.least is None else x.least) if both else None, nonnegative=both,
        ups=x.ups + y.ups, downs=x.downs + y.downs, degree=degree, monomial=False, weights=x.weights and y.weights,
        summed=(x.number is None and y.number is None and bool(x.inputs & y.inputs)) or x.summed or y.summed,
        exponential=x.exponential or y.exponential, products=max(x.products, y.products), inputs=x.inputs | y.inputs,
        normalised=(x.normalised and (y.normalised or _plain(y))) or (y.normalised and _plain(x)),
    )  # fmt: skip


def _plain(x: RoundedValue) -> bool:
    """An input, or a constant."""
    return x.products <= 1 and not x.summed


def _absolute_error(x: RoundedValue) -> RoundedValue:
    """All error absolute: beside another addend the value itself is no scale."""
    return replace(x, own=False) if x.total else x


def _sum_form(x: RoundedValue, y: RoundedValue) -> tuple[Form, int] | None:
    if x.form is None or y.form is None:
        return None
    if x.sign != y.sign:
        turned = _turned(y, x)
        if turned is not None:
            y = turned
        else:
            turned = _turned(x, y)
            if turned is None:
                return None
            x = turned
    if x.form is None or y.form is None:
        return None
    left, right = {t: (s, p) for t, s, p in x.form}, {t: (s, p) for t, s, p in y.form}
    made: list[tuple[str, Status, Parity]] = []
    for t in sorted({*left, *right}):
        mine, theirs = left.get(t), right.get(t)
        status = _both(mine and mine[0], theirs and theirs[0])
        if status is None:
            return None
        same = mine is not None and theirs is not None and mine[1] == theirs[1]
        made.append((t, status, mine[1] if same and mine is not None else ""))
    return tuple(made), x.sign


def _turned(y: RoundedValue, beside: RoundedValue) -> RoundedValue | None:
    """The same with the other sign: an input in which it is odd, and which the other value does not have, is taken
    with the other sign."""
    if y.form is None or beside.form is None:
        return None
    others = {t for t, _, _ in beside.form}
    for n, (t, status, parity) in enumerate(y.form):
        if parity == "odd" and t not in others and status in ("plus", "minus"):
            other: Status = "minus" if status == "plus" else "plus"
            return replace(y, form=(*y.form[:n], (t, other, parity), *y.form[n + 1 :]), sign=-y.sign)
    return None


def _both(x: Status | None, y: Status | None) -> Status | None:
    """How an input stands in two values together; None if they do not agree."""
    if x is None or x == "even":
        return y if y is not None else x
    if y is None or y == "even" or x == y:
        return x
    return None


def negative(x: RoundedValue) -> RoundedValue:
    if x.zero:
        return x
    number = None if x.number is None else -x.number
    return replace(
        x,
        sign=-x.sign,
        number=number,
        absent=x.infinite,
        nonnegative=False,
        least=None,
        ups=x.downs,
        downs=x.ups,
        weights=False,
    )


def subtract(x: RoundedValue, y: RoundedValue) -> RoundedValue:
    return add(x, negative(y))


@lru_cache(TABLE)
def multiply(x: RoundedValue, y: RoundedValue, same: bool = False) -> RoundedValue:
    """The exact product; `same`: both are one register element, so it is a square."""
    if x.zero or y.zero:
        return x if x.zero else y
    if x.infinite or y.infinite:
        return x if x.infinite else y
    if not (x.own and y.own) and (x.form is None or y.form is None):
        x, y = absolute(x), absolute(y)
    form = _product_form(x, y, same)
    own = x.own and y.own
    if not own and form is None:
        x, y = absolute(x), absolute(y)
        own, form = True, _product_form(x, y, same)
    alpha = NOTHING
    for error, other in ((x.alpha, y), (y.alpha, x)):
        if error:
            if other.size is None:
                raise NoRuleError("absolute error times what has no largest magnitude")
            alpha = alpha + error * other.size
    alpha = alpha + x.alpha * y.alpha
    both = (x.nonnegative and y.nonnegative) or same
    lin_x, lin_y = bool(x.ups or x.downs), bool(y.ups or y.downs)
    ups, downs = (x.ups, x.downs) if lin_x else (y.ups, y.downs)
    factor = y if lin_x else x
    if factor.number is not None and factor.number < 0:
        ups, downs = downs, ups
    degree = None if x.degree is None or y.degree is None else x.degree + y.degree
    if (lin_x and lin_y) or ((lin_x or lin_y) and factor.tensors and not same):
        degree = None
    number = x.number * y.number if x.number is not None and y.number is not None and x.exact and y.exact else None
    return RoundedValue(
        form[0] if form else None, form[1] if form else 1, own, x.total + y.total, 0.0, alpha,
        size=None if x.size is None or y.size is None else x.size * y.size,
        least=x.least * y.least if x.least is not None and y.least is not None else None, nonnegative=both,
        ups=ups, downs=downs, degree=degree, number=number, monomial=x.monomial and y.monomial,
        weights=(x.weights and _rescales(y)) or (y.weights and _rescales(x)),
        summed=x.summed or y.summed, exponential=x.exponential or y.exponential,
        normalised=x.normalised or y.normalised, products=x.products + y.products, inputs=x.inputs | y.inputs,
    )  # fmt: skip


def _rescales(x: RoundedValue) -> bool:
    """A power of two by which weights go from one maximum to the next, or 1."""
    rescaling = x.nonnegative and x.monomial and not x.weights and not x.products and x.size == constant(1.0)
    return rescaling and (x.number in (None, 1.0))


def _product_form(x: RoundedValue, y: RoundedValue, same: bool) -> tuple[Form, int] | None:
    if x.form is None or y.form is None:
        return None
    left, right = {t: (s, p) for t, s, p in x.form}, {t: (s, p) for t, s, p in y.form}
    made: list[tuple[str, Status, Parity]] = []
    for t in sorted({*left, *right}):
        mine, theirs = left.get(t), right.get(t)
        status = _both(mine and mine[0], theirs and theirs[0])
        if status is None:
            return None
        if same and x.monomial and status in ("plus", "minus"):
            status = "even"
        parities = {p[1] for p in (mine, theirs) if p is not None}
        parity: Parity = ""
        if "" not in parities:
            odd = [p for p in (mine, theirs) if p is not None and p[1] == "odd"]
            parity = "odd" if len(odd) == 1 else "even"
        made.append((t, status, parity))
    return tuple(made), x.sign * y.sign


def positive_form(x: RoundedValue) -> RoundedValue:
    """The form of a function of x that is not monotonic in its inputs: a product stays one, what is not negative is
    taken at the inputs themselves, of others nothing is known."""
    if x.monomial:
        return x
    if not x.nonnegative:
        return replace(x, form=None, sign=1)
    even = {t for t, status, _ in x.form or () if status == "even"}
    raw: Form = tuple((t, "even" if t in even else "raw", "even" if t in even else "") for t in sorted(x.inputs))
    return replace(x, form=raw, sign=1)


@lru_cache(TABLE)
def reciprocal(y: RoundedValue) -> RoundedValue:
    """1 / y exactly."""
    if y.number == 0:
        raise NoRuleError("division by zero")
    if y.infinite:
        return y
    y = positive_form(absolute(y))
    low = constant(0.5) if y.weights else y.least
    alpha = NOTHING
    if y.alpha:
        if low is None:
            raise NoRuleError("division by what may be near zero")
        alpha = y.alpha * low.inverse() * low.inverse()
        alpha = alpha.times(2.0)
    degree = None if y.degree is None or y.ups or y.downs else -y.degree
    return replace(
        y, alpha=alpha, theta=y.total, last=0.0, size=None if low is None else low.inverse(), least=None, degree=degree,
        number=1 / y.number if y.number is not None else None, weights=False, summed=False, products=0,
        exponential=False, normalised=bool(y.ups) or y.normalised,
    )  # fmt: skip


@lru_cache(TABLE)
def square_root(x: RoundedValue, inverse: bool) -> RoundedValue:
    """sqrt(x), or 1 / sqrt(x)."""
    x = positive_form(absolute(x))
    low, alpha, size = x.least, NOTHING, None
    root = None if low is None else low.root()
    if x.alpha:
        if low is None:
            raise NoRuleError("the root of what may be near zero")
        alpha = (x.alpha * (low.inverse(3) if inverse else low.inverse(1))).times(1.5)
    if inverse:
        size = None if low is None else low.inverse(1)
    elif x.size is not None:
        size = x.size.root()
    return replace(
        x, theta=x.total.times(0.5), last=0.0, alpha=alpha, size=size, least=None if inverse else root,
        nonnegative=True, number=None, degree=0 if x.degree == 0 else None, weights=False,
        normalised=inverse and x.summed, products=0 if inverse else x.products, summed=False,
    )  # fmt: skip


@lru_cache(TABLE)
def join(x: RoundedValue, y: RoundedValue) -> RoundedValue:
    """Either of them."""
    if x == y or y.absent:
        return x
    if x.absent:
        return y
    if x.zero or y.zero:
        other = y if x.zero else x
        return replace(other, least=None, number=None)
    form = _joined_form(x, y)
    own = x.own and y.own
    if not own and form is None:
        x, y = absolute(x), absolute(y)
        own, form = True, _joined_form(x, y)
    return RoundedValue(
        form[0] if form else None, form[1] if form else 1, own, x.theta.largest(y.theta), max(x.last, y.last),
        x.alpha.largest(y.alpha),
        size=None if x.size is None or y.size is None else x.size.largest(y.size),
        least=x.least if x.least == y.least else None, nonnegative=x.nonnegative and y.nonnegative,
        ups=max(x.ups, y.ups), downs=max(x.downs, y.downs), degree=x.degree if x.degree == y.degree else None,
        monomial=x.monomial and y.monomial, weights=x.weights and y.weights, summed=x.summed or y.summed,
        exponential=x.exponential or y.exponential, normalised=x.normalised and y.normalised,
        products=max(x.products, y.products),
        inputs=x.inputs | y.inputs,
    )  # fmt: skip


def _joined_form(x: RoundedValue, y: RoundedValue) -> tuple[Form, int] | None:
    return _sum_form(x, y) if x.sign == y.sign else None
