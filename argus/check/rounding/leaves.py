"""Where rounded values begin: inputs, scalar arguments, sizes and constants.

A constant of a kernel is rounded, and a proof accepts it within two units in the last place of f32. How far it is off
is known where numbers that the specification implies round to it: one that is written there, log2(e) or log(2), or a
product or quotient of two of these; the farthest counts. Otherwise it counts as two units off. A whole number is exact,
if it was written as one: 1000.3 is 1000 in bf16.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import isinf, log, log2

from argus.check.rounding.arithmetic import relative
from argus.check.rounding.magnitudes import atom, constant, up
from argus.check.rounding.rounded_value import SCALAR, RoundedValue
from argus.ir.float_formats import FORMATS, nearest, unit_at
from argus.ir.kernel import Kernel, ScalarArg
from argus.ir.ops import Tensor
from argus.ir.types import DType, f32
from argus.layout.expr import Expr
from argus.spec.tree import NumberLiteral, Specification
from argus.spec.walk import walk

ABSENT = -1e20
"""A maximum that starts below this starts from nothing."""
ACCEPTED = 2
F32_BITS = 32
"""Units in the last place that a proof accepts."""


def element(tensor: Tensor) -> RoundedValue:
    """An element of an input."""
    return RoundedValue(
        form=((tensor.name, "plus", "odd"),), size=atom("tensor", tensor.name),
        nonnegative=tensor.dtype.kind in ("uint", "bool"), products=1,
        inputs=frozenset({tensor.name}),
    )  # fmt: skip


def scalar(arg: ScalarArg) -> RoundedValue:
    """A scalar argument. It counts as not negative: of a launch where it is, no bound is claimed."""
    name, size = SCALAR + arg.name, atom("scalar", arg.name)
    return RoundedValue(
        form=((name, "even", "even"),), size=size, least=size, nonnegative=True, inputs=frozenset({name})
    )


def size_of(expr: Expr, sizes: frozenset[Expr]) -> RoundedValue:
    """An index expression as data."""
    low, high = expr.bounds()
    if expr.op == "const":
        return number(float(expr.value))
    if expr in sizes:
        made = atom("size", expr.name)
        return RoundedValue(form=(), size=made, least=made, nonnegative=True)
    known = None if low is None or high is None else constant(float(max(abs(low), abs(high))))
    return RoundedValue(form=None, size=known, nonnegative=low is not None and low >= 0, monomial=False)


def number(value: float, relative_error: float = 0.0) -> RoundedValue:
    """A constant that is off by a relative error."""
    if isinf(value):
        return RoundedValue(absent=True, number=value)
    return RoundedValue(
        absent=value <= ABSENT,
        form=(), sign=-1 if value < 0 else 1, theta=constant(relative_error), size=constant(abs(value)),
        least=constant(value) if value > 0 else None, nonnegative=value >= 0, number=value,
    )  # fmt: skip


def written(value: float | int, dtype: DType, implied: tuple[float, ...]) -> RoundedValue:
    """A constant of the kernel."""
    if dtype.kind != "float":
        return number(float(value))
    meant, value = float(value), nearest(float(value), dtype)
    if isinf(value) or meant == value == int(value):
        return number(value)
    unit = unit_at(value, dtype)
    near = [c for c in implied if abs(abs(value) - c) <= 0.5 * unit]
    if near:
        off = max(abs(abs(value) / c - 1.0) for c in near)
        if dtype.bits > F32_BITS and nearest(value, f32) != value:
            off += 2.0**-53  # the numbers implied are rounded to f64 themselves
        return number(value, relative(up(off + 2.0**-52)) if off else 0.0)
    return number(value, relative(ACCEPTED * 2.0 ** -(FORMATS[dtype.name].digits - 1)))


def implied_numbers(kernel: Kernel) -> tuple[float, ...]:
    """Numbers that the specification implies."""
    return () if kernel.computes is None else _implied(kernel.computes)


@lru_cache(64)
def _implied(spec: Specification) -> tuple[float, ...]:
    first = {1.0, 2.0, log2(2.718281828459045), log(2.0), 1 / 128}
    for result in spec.results:
        first |= {float(n.value) for n in walk(result.expression) if isinstance(n, NumberLiteral) and n.value}
    twice = {a * b for a, b in product(first, first)} | {a / b for a, b in product(first, first)}
    return tuple(sorted(twice | {a * b for a, b in product(first, twice)}))
