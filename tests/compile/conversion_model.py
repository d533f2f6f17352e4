"""What a conversion gives, by exact arithmetic: the model that compiler and interpreter are compared with.

A number of a narrow float type is looked up in the table of all of them, whose index is its bits; a rounding to f32 or
f64 is done in fractions. Nothing here is shared with `argus`. None stands for NaN.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import inf, isinf, isnan

Number = int | float
WHOLE = {"i64": (64, 1), "i32": (32, 1), "i16": (16, 1), "i8": (8, 1), "u32": (32, 0), "u16": (16, 0), "u8": (8, 0)}
NARROW = {"f16": (5, 10, 15), "bf16": (8, 7, 127), "fp8": (4, 3, 8), "bf8": (5, 2, 16)}
"""Bits of exponent, of fraction, and the bias."""
WIDE = {"f32": (24, -149, 127), "f64": (53, -1074, 1023)}
"""Digits, the smallest number and the largest exponent, as powers of two."""
ENDLESS = frozenset({"f64", "f32", "f16", "bf16"})
"""Types with an infinity."""


@lru_cache
def table(name: str) -> list[float]:
    """All finite numbers that are not negative, in order: the index is the bits."""
    exponents, fraction, bias = NARROW[name]
    finite = ((1 << exponents) - (name in ENDLESS)) << fraction
    return [
        (n & (1 << fraction) - 1 | (n >> fraction != 0) << fraction) * 2.0 ** (max(1, n >> fraction) - bias - fraction)
        for n in range(finite)
    ]


def largest(name: str) -> float:
    if name in NARROW:
        return table(name)[-1]
    digits, _, top = WIDE[name]
    return (2 - 2.0 ** (1 - digits)) * 2.0**top


def ends(name: str) -> tuple[Number, Number]:
    if name in WHOLE:
        bits, signed = WHOLE[name]
        return -signed * (1 << bits - 1), (1 << bits - signed) - 1
    return -largest(name), largest(name)


def _narrow(size: Number, name: str, rounding: str) -> float | None:
    numbers = table(name)
    at = bisect_right(numbers, size) - 1
    below = numbers[at]
    if rounding == "rtz" or size == below:
        return below
    step = numbers[at + 1] - below if at + 1 < len(numbers) else below - numbers[at - 1]
    middle = below + step / 2
    if size < middle or (size == middle and at % 2 == 0):
        return below
    return numbers[at + 1] if at + 1 < len(numbers) else (inf if name in ENDLESS else None)


def _wide(size: Number, name: str, rounding: str) -> float:
    digits, smallest, _ = WIDE[name]
    exact = Fraction(size)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent -= exact < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - digits + 1, smallest)
    whole = exact // unit if rounding == "rtz" else round(exact / unit)
    made = whole * unit
    if made <= Fraction(largest(name)):
        return float(made)
    return largest(name) if rounding == "rtz" else inf


def to_float(x: Number, source: str, target: str, rounding: str, saturate: bool) -> float | None:
    """The number of a float type that x becomes."""
    if isnan(x):
        return None
    (least, most), (low, high) = ends(source), ends(target)
    size = abs(x)
    if saturate and (least < low or most > high):
        size = min(size, high)
    if isinf(size):
        made: float | None = inf if target in ENDLESS else None
    else:
        made = _wide(size, target, rounding) if target in WIDE else _narrow(size, target, rounding)
    return made if made is None else (-made if x < 0 else made)


def to_whole(x: Number, target: str, rounding: str, saturate: bool, whole: bool) -> int:
    """The number of an integer type that x becomes."""
    bits, _ = WHOLE[target]
    low, high = ends(target)
    if not whole:
        if isnan(x):
            return 0
        first = ends("i64" if bits == 64 else "u32" if target[0] == "u" and (saturate or bits == 32) else "i32")
        near = x if isinf(x) else (int(x) if rounding == "rtz" else round(x))
        x = int(min(max(near, first[0]), first[1]))
    if saturate:
        return int(min(max(x, low), high))
    return (int(x) - int(low)) % (1 << bits) + int(low)


def model(xs: Iterable[Number], source: str, target: str, rounding: str, saturate: bool) -> list[Number | None]:
    """Of every x what it becomes."""
    if target in WHOLE:
        return [to_whole(x, target, rounding, saturate, source in WHOLE) for x in xs]
    return [to_float(x, source, target, rounding, saturate) for x in xs]
