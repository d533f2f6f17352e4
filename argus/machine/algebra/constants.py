"""Constants: a float in the code that is the rounding of a number the specification names stands for that number.

    0x3fb8aa3b is 1.44269502, within 2 ulp of log2(e): it takes the residues of log2(e), a symbol with random residues
    0x3c23d70a is the f32 next to 0.01: it takes those of 1/100

The specification implies its own numbers, log2(e) for `exp` and its inverse for `log`, their inverses, and products of
two of these (compilers fold `scale * log2(e)`). Beside each lies what is left of it after rounding to f32: code that
carries a constant in two parts adds a second that is zero here. A float near none of them is the number it is.

A float of 16 bits that is near one of them only as bf16 or f16 would round it (1.4453125 for log2(e)) is doubtful:
arithmetic in a narrow type has such constants, and so has a mistake.

Some floats are known to be coefficients of a polynomial that approximates a function (`fitted`): they are doubtful, as
the polynomial is another function of the field. A named number is never one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from argus.machine.algebra import fields, numbers
from argus.machine.algebra.fields import Residues
from argus.machine.algebra.numbers import AlgebraNumbers, Reals

NEAR = 2.0**-22
"""2 ulp of f32, relative."""
NARROW = 2.0**-8
"""Half a unit of bf16, relative."""
LARGEST = float(np.finfo(np.float32).max)
LOG2_E = math.log2(math.e)


@dataclass(frozen=True, slots=True)
class NamedConstant:
    """A real number and its residues."""

    value: float
    residue: Residues


def fraction(value: Fraction | int) -> NamedConstant:
    exact = Fraction(value)
    return NamedConstant(float(exact), fields.of_ratio(exact.numerator, exact.denominator))


def log2_e(seed: int) -> NamedConstant:
    return NamedConstant(LOG2_E, fields.drawn(np.array([LOG2_E]), seed)[:, 0])


class Constants:
    """The implied numbers of one comparison, and what a float stands for."""

    def __init__(self, seed: int, named: Iterable[NamedConstant] = (), fitted: Iterable[float] = ()) -> None:
        self.log2_e = log2_e(seed)
        one = fraction(1)
        base = [one, self.log2_e, *(c for c in named if c.value and math.isfinite(c.value))]
        base += [_inverse(c) for c in base]
        products = [_product(a, b) for i, a in enumerate(base) for b in base[i:]]
        products = [c for c in products if abs(c.value) <= LARGEST]
        rests = [NamedConstant(c.value - float(np.float32(c.value)), fields.of_ratio(0, 1)) for c in products]
        known = {abs(c.value): c for c in [*rests, *products] if c.value}
        self._values = np.array(sorted(known))
        self._residues = np.stack([_positive(known[v]) for v in self._values], axis=1)
        self._fitted = np.array(sorted(fitted))

    def symbol(self, value: float) -> NamedConstant | None:
        """log2(e) or its inverse, if a number is written for it."""
        for c in (self.log2_e, _inverse(self.log2_e)):
            if abs(value - c.value) <= NEAR * c.value:
                return c
        return None

    def of_floats(self, real: Reals) -> AlgebraNumbers:
        """What floats of the code stand for."""
        literal = numbers.of_floats(real)
        size = np.abs(real)
        at = np.searchsorted(self._values, size)
        last = len(self._values) - 1
        below, above = np.clip(at - 1, 0, last), np.clip(at, 0, last)
        nearest = np.where(size - self._values[below] < self._values[above] - size, below, above)
        near = np.abs(self._values[nearest] - size) <= NEAR * size
        near &= np.isfinite(real) & (real != 0)
        narrow = _of_halves(real) & (np.abs(self._values[nearest] - size) <= NARROW * size) & ~near
        made = literal
        if near.any():
            taken = self._residues[:, nearest]
            signed = np.where(np.signbit(real), fields.negate(taken), taken)
            made = numbers.exactly(np.where(near, signed, literal.residue), real)
        return made.doubted(narrow | (np.isin(size, self._fitted) & ~near))


def _of_halves(real: Reals) -> NDArray[np.bool_]:
    """Numbers that bf16 or f16 has, but for those of four digits or fewer (0.5, 3, 1/1024), which are meant."""
    with np.errstate(all="ignore"):
        whole = np.ldexp(np.frexp(real)[0], 4)
        halves = (real.astype(bfloat16) == real) | (real.astype(np.float16) == real)
        return np.asarray(halves & (whole != np.rint(whole)))


def _positive(c: NamedConstant) -> Residues:
    return fields.negate(c.residue) if c.value < 0 else c.residue


def _inverse(c: NamedConstant) -> NamedConstant:
    return NamedConstant(1.0 / c.value, fields.inverse(c.residue))


def _product(a: NamedConstant, b: NamedConstant) -> NamedConstant:
    return NamedConstant(a.value * b.value, fields.multiply(a.residue, b.residue))
