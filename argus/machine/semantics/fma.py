"""Fused multiply-add in NumPy, which has none: one rounding, bit for bit.

f32: the product of two f32 is exact in f64; the f64 sum is then rounded a second time to f32, which is wrong only
when it falls exactly between two f32 numbers (or below the normal range). Such sums are first rounded to odd: the f64
neighbour whose last bit is 1 remembers that something was lost, and 53 >= 24 + 2 bits make the second rounding right.

    fma32(1 + 2**-12, 1 + 2**-12, 2**-60)      rounds up; the naive f64 detour rounds to even and loses the 2**-60

f64: exact rationals, lane by lane (rare in kernels, so clarity wins).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

_LOW = np.uint64(0x1FFFFFFF)
_TIE = np.uint64(0x10000000)
_ONE = np.uint64(1)
_TINY = np.uint64((897 << 52) * 2 - 1)


def round_sum_to_odd(p: F64, c: F64, s: F64) -> F64:
    """p + c rounded to odd, where s is p + c rounded to nearest."""
    virtual = s - p
    lost = (p - (s - virtual)) + (c - virtual)
    bits = s.view(np.uint64)
    step = np.where((lost > 0) == (s > 0), bits + _ONE, bits - _ONE)
    adjust = ((bits & _ONE) == 0) & (lost != 0) & np.isfinite(lost)
    return np.where(adjust, step, bits).view(np.float64)


def add_rounding_to_f32(p: F64, c: F64) -> F32:
    """p + c rounded once to f32; p and c are f64 numbers."""
    s = p + c
    bits = s.view(np.uint64)
    suspicious = ((bits & _LOW) == _TIE) | ((bits << _ONE) - _ONE < _TINY)
    if np.count_nonzero(suspicious):
        s = round_sum_to_odd(p, c, s)
    return s.astype(np.float32)


def fma32(a: F32, b: F32, c: F32) -> F32:
    """a * b + c with one rounding, elementwise."""
    return add_rounding_to_f32(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))


def fma64_scalar(a: float, b: float, c: float) -> float:
    """a * b + c of three f64 numbers with one rounding."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    an, ad = a.as_integer_ratio()
    bn, bd = b.as_integer_ratio()
    cn, cd = c.as_integer_ratio()
    numerator, denominator = an * bn * cd + cn * ad * bd, ad * bd * cd
    if numerator == 0:
        return a * b + c if an * bn == 0 else 0.0
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def fma64(a: F64, b: F64, c: F64) -> F64:
    """a * b + c with one rounding, elementwise."""
    a, b, c = np.broadcast_arrays(a, b, c)
    lanes = [
        fma64_scalar(x, y, z)
        for x, y, z in zip(a.ravel().tolist(), b.ravel().tolist(), c.ravel().tolist(), strict=True)
    ]
    return np.array(lanes, dtype=np.float64).reshape(a.shape)
