"""Numbers of an execution in exact algebra: what is known of each value besides the bits of the real run.

    AlgebraNumbers(residue, present, taint, real)

`residue`   one per field (`fields`).
`present`   the fields in which the number has a residue, one bit each: exp2 loses the first, log2 the last. None: the
            number is not followed.
`taint`     one bit per field in which the residue is *doubtful* (a root of a number that is no square, a choice between
            numbers that rounding may have exchanged), `LOGARITHM` where a logarithm has lost a sign, `ROOT` where
            a root went into it, and `ROUNDED` where the real value is one of arithmetic, not as it was in memory. Equal
            residues are equal all the same; different ones prove nothing where one of them is doubtful.
`real`      the value in the real run. Choices follow it: maxima, comparisons, and an exp2 that underflows to zero.

Every function takes and returns whole arrays; the object's side and the specification's use the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.machine.algebra import fields
from argus.machine.algebra.fields import EVERY_LEVEL, LEVELS, Residues

Reals = NDArray[np.float64]
Bits = NDArray[np.uint8]

DOUBTFUL = EVERY_LEVEL
LOGARITHM = 1 << LEVELS
ROUNDED = 2 << LEVELS
ROOT = 4 << LEVELS
UNDERFLOW, OVERFLOW = -126.0, 128.0
"""exp2 of less is 0 in f32, of as much or more infinite."""
NO_MASK = -1000.0
"""exp2 of less is meant to be zero; between here and `UNDERFLOW` it became zero."""


@dataclass(frozen=True, slots=True)
class AlgebraNumbers:
    """An array of numbers."""

    residue: Residues
    present: Bits
    taint: Bits
    real: Reals

    @property
    def shape(self) -> tuple[int, ...]:
        return self.real.shape

    def at(self, index: Any) -> AlgebraNumbers:
        """A part of the array, as NumPy indexes."""
        every = (slice(None), *index) if isinstance(index, tuple) else (slice(None), index)
        return AlgebraNumbers(self.residue[every], self.present[index], self.taint[index], self.real[index])

    def arranged(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> AlgebraNumbers:
        """All parts moved alike by a function of an array's shape (transpose, reshape, broadcast)."""
        residue = np.stack([change(level) for level in self.residue])
        return AlgebraNumbers(residue, change(self.present), change(self.taint), change(self.real))

    def with_real(self, real: Reals) -> AlgebraNumbers:
        return AlgebraNumbers(self.residue, self.present, self.taint, real)

    def doubted(self, where: NDArray[np.bool_]) -> AlgebraNumbers:
        """The same numbers, doubtful in all fields where it is said."""
        taint = np.where(where, self.taint | DOUBTFUL, self.taint).astype(np.uint8)
        return AlgebraNumbers(self.residue, self.present, taint, self.real)


def exactly(residue: Residues, real: Reals) -> AlgebraNumbers:
    """Numbers known in every field; what is not finite is known in none."""
    present = np.where(np.isfinite(real), EVERY_LEVEL, 0).astype(np.uint8)
    return AlgebraNumbers(residue, present, np.zeros(real.shape, np.uint8), real)


def of_floats(real: Reals) -> AlgebraNumbers:
    """The numbers that doubles are."""
    return exactly(fields.of_floats(real), real)


def _joined(residue: Residues, real: Reals, *given: AlgebraNumbers) -> AlgebraNumbers:
    present, taint = given[0].present, given[0].taint
    for x in given[1:]:
        present, taint = present & x.present, taint | x.taint
    return AlgebraNumbers(
        residue, np.where(np.isfinite(real), present, 0).astype(np.uint8), (taint | ROUNDED).astype(np.uint8), real
    )


def add(x: AlgebraNumbers, y: AlgebraNumbers) -> AlgebraNumbers:
    return _joined(fields.add(x.residue, y.residue), x.real + y.real, x, y)


def subtract(x: AlgebraNumbers, y: AlgebraNumbers) -> AlgebraNumbers:
    return _joined(fields.subtract(x.residue, y.residue), x.real - y.real, x, y)


def multiply(x: AlgebraNumbers, y: AlgebraNumbers) -> AlgebraNumbers:
    return _joined(fields.multiply(x.residue, y.residue), x.real * y.real, x, y)


def multiply_add(x: AlgebraNumbers, y: AlgebraNumbers, z: AlgebraNumbers) -> AlgebraNumbers:
    residue = fields.multiply_add(x.residue, y.residue, z.residue)
    return _joined(residue, x.real * y.real + z.real, x, y, z)


def negate(x: AlgebraNumbers) -> AlgebraNumbers:
    return AlgebraNumbers(fields.negate(x.residue), x.present, x.taint, -x.real)


def inverse(x: AlgebraNumbers) -> AlgebraNumbers:
    """1 / x. A field in which x is 0 has no inverse: not followed there. What an overflow made zero is doubtful."""
    real = 1.0 / x.real
    made = _joined(fields.inverse(x.residue), real, x)
    return _zero_of_infinity(_without(made, x.residue == 0), x)


def divide(x: AlgebraNumbers, y: AlgebraNumbers) -> AlgebraNumbers:
    return multiply(x, inverse(y)).with_real(x.real / y.real)


def absolute(x: AlgebraNumbers) -> AlgebraNumbers:
    return choose(np.signbit(x.real), negate(x), x)


def exp2(x: AlgebraNumbers) -> AlgebraNumbers:
    """2**x. Where f32 underflows to zero, zero; where it overflows, infinite; beyond a logarithm the sign is
    doubtful. Code that computes the same in another way may overflow elsewhere, so what became zero is doubtful."""
    real = np.where(x.real >= OVERFLOW, np.inf, np.exp2(x.real))
    present = (x.present << 1 & EVERY_LEVEL).astype(np.uint8)
    doubts = (x.taint & DOUBTFUL) << 1 & DOUBTFUL
    taint = np.where(x.taint & LOGARITHM, DOUBTFUL | LOGARITHM, doubts) | ROUNDED | x.taint & ROOT
    present = np.where(np.isfinite(real), present, 0).astype(np.uint8)
    made = AlgebraNumbers(fields.exp2(x.residue), present, taint.astype(np.uint8), real)
    vanished = (x.real < UNDERFLOW) & ((x.present > 0) | np.isinf(x.real))
    zero = of_floats(np.zeros(x.shape)).doubted(x.real > NO_MASK)
    return choose(vanished, zero, made)


def log2(x: AlgebraNumbers) -> AlgebraNumbers:
    real = np.log2(x.real)
    taint = (x.taint & DOUBTFUL) >> 1 | LOGARITHM | ROUNDED | x.taint & ROOT
    present = np.where(np.isfinite(real), x.present >> 1, 0)
    made = AlgebraNumbers(fields.log2(x.residue), present.astype(np.uint8), taint.astype(np.uint8), real)
    zero = x.residue == 0
    return _without(made, np.concatenate([zero[1:], zero[:1]]))


def sqrt(x: AlgebraNumbers) -> AlgebraNumbers:
    """A root; doubtful in the fields in which x is no square."""
    made = _joined(fields.sqrt(x.residue), np.sqrt(x.real), x)
    bits = np.array([1 << level for level in range(LEVELS)], np.uint8).reshape(LEVELS, *(1,) * x.real.ndim)
    doubts = np.where(fields.squares(x.residue), 0, bits).sum(0).astype(np.uint8)
    return AlgebraNumbers(made.residue, made.present, made.taint | doubts | np.uint8(ROOT), made.real)


def unknown_function(x: AlgebraNumbers, name: str, real: Reals) -> AlgebraNumbers:
    """A function of which nothing is known but that it is one: doubtful, as code may compute it in other ways."""
    made = _joined(fields.scrambled(x.residue, name), real, x)
    return made.doubted(np.ones(x.shape, np.bool_))


def choose(mask: NDArray[np.bool_], x: AlgebraNumbers, y: AlgebraNumbers) -> AlgebraNumbers:
    """x where the mask is set, else y."""
    return AlgebraNumbers(
        np.where(mask, x.residue, y.residue),
        np.where(mask, x.present, y.present),
        np.where(mask, x.taint, y.taint),
        np.where(mask, x.real, y.real),
    )


def _without(x: AlgebraNumbers, where: NDArray[np.bool_]) -> AlgebraNumbers:
    """Not followed in the fields in which `where` (levels, ...) is set."""
    bits = np.array([1 << level for level in range(LEVELS)], np.uint8).reshape(LEVELS, *(1,) * x.real.ndim)
    missing = np.where(where, bits, 0).sum(0).astype(np.uint8)
    return AlgebraNumbers(x.residue, x.present & ~missing, x.taint, x.real)


def _zero_of_infinity(made: AlgebraNumbers, x: AlgebraNumbers) -> AlgebraNumbers:
    zero = of_floats(np.zeros(x.shape)).doubted(np.ones(x.shape, np.bool_))
    return choose(np.isinf(x.real), zero, made)


def same(x: AlgebraNumbers, y: AlgebraNumbers) -> NDArray[np.bool_]:
    """Equal residues in all fields that both have, at least one; or the same infinity, or both NaN."""
    equal, both = _equal(x, y), x.present & y.present
    return np.asarray(((both > 0) & ((both & ~equal) == 0)) | _same_special(x, y))


def proved_different(x: AlgebraNumbers, y: AlgebraNumbers) -> NDArray[np.bool_]:
    """Different residues in a field that both have and neither doubts."""
    certain = x.present & y.present & ~(x.taint | y.taint)
    return np.asarray((certain & ~_equal(x, y)) > 0)


def other_root(x: AlgebraNumbers, y: AlgebraNumbers) -> NDArray[np.bool_]:
    """A root went into them, and they are equal in a field and different in another. The root of x² is x in a field
    where x is a square, else -x, and which it is says nothing about numbers: code that writes |x| for it differs in
    about half of the fields. Numbers that differ are equal in a field by chance only, once in 2^30."""
    equal, both = _equal(x, y), x.present & y.present
    rooted = ((x.taint | y.taint) & ROOT) > 0
    return np.asarray(rooted & ((both & equal) > 0) & ((both & ~equal) > 0))


def _equal(x: AlgebraNumbers, y: AlgebraNumbers) -> Bits:
    bits = np.array([1 << level for level in range(LEVELS)], np.uint8).reshape(LEVELS, *(1,) * x.real.ndim)
    return np.asarray(np.where(x.residue == y.residue, bits, 0).sum(0), np.uint8)


def _same_special(x: AlgebraNumbers, y: AlgebraNumbers) -> NDArray[np.bool_]:
    special = ~np.isfinite(x.real) & ~np.isfinite(y.real)
    return np.asarray(special & ((x.real == y.real) | (np.isnan(x.real) & np.isnan(y.real))))
