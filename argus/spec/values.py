"""Numbers with error bounds, over named indices: what the evaluation of a specification is made of.

    sum of n terms t       error + n * u * sum(|t|)             u = 2^-24, the unit roundoff of f32
    product x * y          |x| * error(y) + |y| * error(x) + u * |x * y|
    exp2, rsqrt, ...       slope * error(x) + 2 u * |result|    two units in the last place for the hardware's functions
    x / y                  the error of y, 2 u * |result|, and |x| * 2^-126, below which f32 has no reciprocal

The standard running error analysis: the bound holds for a kernel that does the same arithmetic in f32 in any order.
Infinities and NaNs have no error: what follows from them is exact (exp(-inf) is 0).

A whole number in a result of whole numbers also carries its residue modulo 2^64. Sums and products of residues are
residues, however large the numbers are; `stored` cuts them to the result's element type, which is what an integer
result means (docs/language.md). What is no sum or product (`//`, a maximum, a comparison) needs the number itself:
beyond 2^62 it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from argus.spec.errors import SpecError
from argus.spec.functions import HARDWARE_ULPS, TINY, UNIT_F32, Array
from argus.spec.tree import ArithmeticOp, ReductionKind

WholeArray = npt.NDArray[np.int64]
LEAST_F32 = 2.0**-126  # a reciprocal below it is zero
EXACT_F64 = 2.0**53
"""Below it every whole number is a float64."""
LARGEST_WHOLE = 2.0**62


@dataclass(frozen=True, slots=True)
class Bounded:
    """An array over named indices (in the order of `indices`) with an error bound of the same shape. `residue`: of
    whole numbers, modulo 2^64."""

    indices: tuple[str, ...]
    value: Array
    error: Array
    residue: WholeArray | None = None


def exact(indices: tuple[str, ...], value: Array | np.float64) -> Bounded:
    """A value without error."""
    array = np.asarray(value, dtype=np.float64)
    return Bounded(indices, array, np.zeros_like(array))


def whole(indices: tuple[str, ...], residue: WholeArray, value: Array | None = None) -> Bounded:
    """Whole numbers; `value` where they may be too large to be their own residues."""
    made = exact(indices, residue.astype(np.float64) if value is None else value)
    return replace(made, residue=np.asarray(residue, dtype=np.int64))


def itself(x: Bounded) -> WholeArray:
    """Whole numbers that are their own residues. Raises SpecError for larger ones."""
    assert x.residue is not None
    if (np.abs(x.value) >= LARGEST_WHOLE).any():
        raise SpecError("a whole number is too large to be compared or divided exactly")
    return x.residue


def whole_numbers(
    made: Bounded, operation: Callable[..., WholeArray], *operands: Bounded, ring: bool = True
) -> Bounded:
    """`made`, a result of whole numbers, with its residue; as it is where an operand has none. `ring`: it is made of
    sums and products, so residues do; else the operands themselves are needed."""
    if any(x.residue is None for x in operands):
        return made
    with np.errstate(over="ignore"):
        return whole(made.indices, operation(*(x.residue if ring else itself(x) for x in operands)), made.value)


def stored(want: Bounded, dtype: np.dtype[np.generic]) -> Bounded:
    """The result as an array of this type holds it: a whole number modulo 2^bits of an integer type."""
    if want.residue is None or dtype.kind not in "iu":
        return want
    return whole(want.indices, want.residue.astype(dtype).astype(np.int64))


def bounded(indices: tuple[str, ...], value: Array, error: Array) -> Bounded:
    """Without an error where there is no finite value."""
    finite = np.isfinite(value)
    return Bounded(indices, value, error if finite.all() else np.where(finite, error, 0.0))


def arithmetic(op: ArithmeticOp, x: Bounded, y: Bounded) -> Bounded:
    """+ - * / of numbers over the same indices."""
    match op:
        case "+" | "-":
            value = x.value + y.value if op == "+" else x.value - y.value
            error = x.error + y.error
        case "*":
            value = x.value * y.value
            error = np.abs(x.value) * y.error + np.abs(y.value) * x.error + x.error * y.error
        case "/":
            value = x.value / y.value
            error = (x.error + np.abs(value) * y.error) / np.maximum(np.abs(y.value) - y.error, TINY)
            error = np.where(np.isinf(y.value), 0.0, error) + HARDWARE_ULPS * UNIT_F32 * np.abs(value)
            error = error + LEAST_F32 * np.abs(x.value)
        case "//" | "%":
            raise SpecError(f"{op} is of whole numbers")
    return bounded(x.indices, value, error + UNIT_F32 * np.abs(value))


def reduced(kind: ReductionKind, x: Bounded, index: str) -> Bounded:
    """A reduction over one of the indices of x."""
    axis = x.indices.index(index)
    rest = x.indices[:axis] + x.indices[axis + 1 :]
    n = x.value.shape[axis]
    if n == 0 and kind not in ("sum", "prod"):
        raise SpecError(f"the {kind} over {index} is over nothing")
    match kind:
        case "sum":
            error = x.error.sum(axis) + n * UNIT_F32 * (np.abs(x.value) + x.error).sum(axis)
            return bounded(rest, x.value.sum(axis), error)
        case "prod":
            size = np.abs(x.value) + x.error
            error = product_error(n, x.value.prod(axis), size.prod(axis), np.maximum(size, 1.0).prod(axis))
            return bounded(rest, x.value.prod(axis), error)
        case "max" | "min":
            pick = np.max if kind == "max" else np.min
            return Bounded(rest, pick(x.value, axis=axis), x.error.max(axis=axis))
        case "argmax" | "argmin":
            return _first_place(rest, x.value if kind == "argmax" else -x.value, x.error, axis)


def product_error(n: int, value: Array, size: Array, grown: Array) -> Array:
    """Of a product of n numbers in any order: each product is rounded, and one that is too small may be zero. `size`:
    the product of magnitudes with their errors, `grown`: of those above one."""
    made: Array = size * (1 + UNIT_F32) ** n - np.abs(value) + n * LEAST_F32 * grown
    return made


def _first_place(rest: tuple[str, ...], value: Array, error: Array, axis: int) -> Bounded:
    """The first place of the maximum; where errors leave several, how far they lie from it."""
    found = value.argmax(axis=axis)
    best = np.take_along_axis(value - error, np.expand_dims(found, axis), axis)
    shape = [1] * value.ndim
    shape[axis] = value.shape[axis]
    places = np.arange(value.shape[axis]).reshape(shape)
    distance = np.where(value + error >= best, np.abs(places - np.expand_dims(found, axis)), 0)
    certain = (error == 0).all(axis=axis)
    return Bounded(rest, found.astype(np.float64), np.where(certain, 0.0, distance.max(axis=axis).astype(np.float64)))
