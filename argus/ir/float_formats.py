"""Floating formats as numbers: how many digits they have, where they begin and end, and the number nearest to another.

    nearest(257, bf16)      256.0       eight digits
    nearest(1e-8, f16)      0.0         the smallest number is 2^-24
    nearest(70000, f16)     inf
    nearest(0.1, f32)       0.10000000149011612

Ties go to the number whose last digit is even, as conversions do.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, frexp, inf, isfinite, ldexp

from argus.ir.types import DType


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """`digits` of a normal number, the first one included; the least normal number is 2^`least`."""

    digits: int
    least: int
    largest: float


FORMATS = {
    "f64": NumberFormat(53, -1022, (2 - 2.0**-52) * 2.0**1023),
    "f32": NumberFormat(24, -126, (2 - 2.0**-23) * 2.0**127),
    "xf32": NumberFormat(11, -126, (2 - 2.0**-10) * 2.0**127),
    "bf16": NumberFormat(8, -126, (2 - 2.0**-7) * 2.0**127),
    "f16": NumberFormat(11, -14, 65504.0),
    "fp8": NumberFormat(4, -7, 240.0),
    "bf8": NumberFormat(3, -15, 57344.0),
}
"""`xf32` is no type of a tensor: it is what the matrix instructions of that name read of an f32."""
FINITE = frozenset({"fp8", "bf8"})
"""Types without an infinity (E4M3 and E5M2 FNUZ): what is beyond them is NaN."""


def nearest(c: float, dtype: DType) -> float:
    """The number of a floating type that a constant becomes."""
    if c == 0 or not isfinite(c):
        return c
    row = FORMATS[dtype.name]
    unit = unit_at(c, dtype)
    rounded = round(c / unit) * unit
    return rounded if abs(rounded) <= row.largest else copysign(inf, c)


def unit_at(c: float, dtype: DType) -> float:
    """The distance between numbers of the type around c."""
    row = FORMATS[dtype.name]
    return ldexp(1.0, max(frexp(c)[1] - 1, row.least) - row.digits + 1)
