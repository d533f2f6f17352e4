"""When the constant of a kernel is the specification's.

    0.33333334      for 1/3           yes: within 2 units in the last place of f32
    1.4426950       for log2(e)       yes
    1.0000001       for 1             no: f32 has 1, so the kernel's constant must round to it
    3000001         for 3000000       no: whole numbers are compared exactly
    x > 0.10000001  for x > 0.1       no: where something jumps, both must round to one number

`held` is the number that a constant of the kernel is in its type. Rounding is not looked at, so 0.1 stays 0.1; but a
whole number that the type does not have (257 in bf16), and one below its normal numbers, is another number.

The type is the one that the kernel's output is computed in: f64 for f64, else f32; narrower types compute in f32. Where
something jumps it is f64 if any tensor is. An integer output has no such constants: whole numbers modulo 2^bits
(`integer_terms`).
"""

from __future__ import annotations

from math import frexp, isfinite, ldexp

from argus.ir.float_formats import FORMATS, nearest
from argus.ir.types import DType, f32

EXACT = 2**53
ULPS = 2
DIGITS = {"f64": 53}
"""Bits of a significand, where they are not those of f32."""
F32 = 24
F32_BITS = 32


def held(c: float, dtype: DType) -> float:
    """What a register of the type holds for the kernel's constant c."""
    if dtype.kind != "float" or not isfinite(c):
        return c
    found = nearest(float(c), dtype)
    below = abs(c) < ldexp(1.0, FORMATS[dtype.name].least)
    return found if below or _whole(c) or not isfinite(found) else c


def close_enough(c: float, n: float, dtype: DType) -> bool:
    """The kernel's number c stands for the specification's n."""
    if c == n:
        return True
    if dtype.kind != "float" or not (isfinite(c) and isfinite(n)) or n == 0 or c * n < 0:
        return False
    if _whole(c) and _whole(n):
        return False
    digits = DIGITS.get(dtype.name, F32)
    unit = ldexp(1.0, frexp(n)[1] - digits)
    if _is_number_of(n, unit) and digits < 53:
        return abs(c - n) <= unit / 2 and round(c / unit) == round(n / unit)
    return abs(c - n) <= ULPS * unit


def same_number(c: float, n: float, dtype: DType) -> bool:
    """The two are one number of f32, or of f64 where that is the type."""
    if c == n or not (isfinite(c) and isfinite(n)) or (_whole(c) and _whole(n)):
        return c == n
    return dtype.bits <= F32_BITS and nearest(float(c), f32) == nearest(float(n), f32)


def _whole(c: float) -> bool:
    return abs(c) < EXACT and c == int(c)


def _is_number_of(n: float, unit: float) -> bool:
    """The type has it."""
    return n / unit == int(n / unit)
