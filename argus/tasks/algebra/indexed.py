"""Numbers over named indices, and the arithmetic of specifications on them.

    Indexed(("m", "k"), x)      an array of numbers with axes m and k

An axis of one element does not depend on its index, so arrays over different indices meet by NumPy's broadcasting once
each has an axis for every index (`expanded`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.machine.algebra import fields, numbers
from argus.machine.algebra.constants import NamedConstant
from argus.machine.algebra.numbers import AlgebraNumbers
from argus.spec.tree import ArithmeticOp

Truth = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Indexed:
    """Numbers over named indices; an axis of one element does not depend on its index."""

    indices: tuple[str, ...]
    numbers: AlgebraNumbers


@dataclass(frozen=True, slots=True)
class DecidedCondition:
    """Where a condition holds, and where rounding may decide it otherwise."""

    indices: tuple[str, ...]
    holds: Truth
    doubtful: Truth


def expanded(array: npt.NDArray[np.generic], indices: tuple[str, ...], union: tuple[str, ...]) -> npt.NDArray[Any]:
    """An array over `indices` with an axis for each of `union`."""
    present = [i for i in union if i in indices]
    ordered = array.transpose([indices.index(i) for i in present])
    return ordered.reshape([array.shape[indices.index(i)] if i in present else 1 for i in union])


def constant(c: NamedConstant) -> Indexed:
    return Indexed((), numbers.exactly(c.residue, np.array(c.value)))


def like(given: AlgebraNumbers, x: AlgebraNumbers) -> AlgebraNumbers:
    """A constant with as many axes as x."""
    shape = (1,) * len(x.shape)
    return given.arranged(lambda array: array.reshape(shape))


def times(x: AlgebraNumbers, factor: AlgebraNumbers) -> AlgebraNumbers:
    return numbers.multiply(x, like(factor, x))


def arithmetic(op: ArithmeticOp, x: AlgebraNumbers, y: AlgebraNumbers) -> AlgebraNumbers:
    match op:
        case "+":
            return numbers.add(x, y)
        case "-":
            return numbers.subtract(x, y)
        case "*":
            return numbers.multiply(x, y)
        case "/":
            return numbers.divide(x, y)
        case "//":
            return numbers.of_floats(np.floor_divide(x.real, y.real))
        case "%":
            return numbers.of_floats(np.mod(x.real, y.real))


def power(x: AlgebraNumbers, y: AlgebraNumbers) -> AlgebraNumbers:
    """A small whole power is a product; any other goes through the logarithm."""
    exponents = np.unique(y.real)
    if len(exponents) == 1 and float(exponents[0]).is_integer() and 0 < abs(exponents[0]) <= 64:
        made = x
        for _ in range(int(abs(exponents[0])) - 1):
            made = numbers.multiply(made, x)
        return made if exponents[0] > 0 else numbers.inverse(made)
    if len(exponents) == 1 and exponents[0] == 0.5:
        return numbers.sqrt(x)
    return numbers.exp2(numbers.multiply(y, numbers.log2(x)))


def multiplied(terms: AlgebraNumbers) -> AlgebraNumbers:
    """The product over the last axis."""
    made = numbers.of_floats(np.ones(terms.shape[:-1]))
    for n in range(terms.shape[-1]):
        made = numbers.multiply(made, terms.at((..., n)))
    return made


def summed(terms: AlgebraNumbers) -> AlgebraNumbers:
    """The sum over the last axis."""
    q = fields.orders(len(terms.shape) - 1)
    present = np.bitwise_and.reduce(terms.present, axis=-1)
    taint = np.bitwise_or.reduce(terms.taint, axis=-1)
    real = terms.real.sum(axis=-1)
    present = np.where(np.isfinite(real), present, 0).astype(np.uint8)
    return AlgebraNumbers(terms.residue.sum(axis=-1, dtype=np.uint64) % q, present, taint, real)
