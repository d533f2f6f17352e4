"""IEEE arithmetic on bit patterns by exact rationals: the tests' own definition of what floats do.

    F32.add(0x3F800000, 0x3F800000) == 0x40000000

A number is (negative, magnitude) with magnitude a Fraction, INF or NAN. Rounding is to nearest even, once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

INF, NAN = "inf", "nan"
Number = tuple[bool, Any]


@dataclass(frozen=True)
class Format:
    mantissa: int
    exponent: int

    @property
    def bits(self) -> int:
        return 1 + self.mantissa + self.exponent

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def inf(self) -> int:
        return (1 << self.exponent) - 1 << self.mantissa

    @property
    def nan(self) -> int:
        return self.inf | 1 << self.mantissa - 1

    @property
    def sign(self) -> int:
        return 1 << self.bits - 1

    def number(self, bits: int) -> Number:
        negative, e = bool(bits & self.sign), bits >> self.mantissa & (1 << self.exponent) - 1
        m = bits & (1 << self.mantissa) - 1
        if e == (1 << self.exponent) - 1:
            return negative, NAN if m else INF
        if e == 0:
            return negative, Fraction(m) * Fraction(2) ** (1 - self.bias - self.mantissa)
        return negative, Fraction(m | 1 << self.mantissa) * Fraction(2) ** (e - self.bias - self.mantissa)

    def encode(self, number: Number) -> int:
        negative, x = number
        sign = self.sign if negative else 0
        if x == NAN:
            return self.nan
        if x == INF:
            return sign | self.inf
        if x == 0:
            return sign
        e = _exponent(x)
        step = Fraction(2) ** (max(e, 1 - self.bias) - self.mantissa)
        q = _nearest_even(x / step)
        if q >> self.mantissa + 1:
            q, e = q >> 1, e + 1
        e = max(e, 1 - self.bias)
        code = q + ((e + self.bias - 1) << self.mantissa) if q >> self.mantissa else q
        return sign | min(code, self.inf)

    def is_nan(self, bits: int) -> bool:
        return bits & ~self.sign & (1 << self.bits) - 1 > self.inf

    def fma(self, a: int, b: int, c: int) -> int:
        (na, x), (nb, y), (nc, z) = self.number(a), self.number(b), self.number(c)
        if NAN in (x, y, z) or (x == INF and y == 0) or (y == INF and x == 0):
            return self.nan
        negative = na != nb
        if INF in (x, y):
            return self.nan if z == INF and nc != negative else self.encode((negative, INF))
        if z == INF:
            return self.encode((nc, INF))
        total = (-1 if negative else 1) * x * y + (-1 if nc else 1) * z
        if total == 0:
            return self.encode((negative and nc, Fraction(0)))
        return self.encode((total < 0, abs(total)))

    def add(self, a: int, b: int) -> int:
        one = self.bias << self.mantissa
        return self.fma(a, one, b)

    def sub(self, a: int, b: int) -> int:
        return self.add(a, b ^ self.sign)

    def mul(self, a: int, b: int) -> int:
        negative = bool((a ^ b) & self.sign)
        return self.fma(a, b, self.sign if negative else 0)

    def div(self, a: int, b: int) -> int:
        (na, x), (nb, y) = self.number(a), self.number(b)
        negative = na != nb
        if NAN in (x, y) or (x == INF and y == INF) or (x == 0 and y == 0):
            return self.nan
        if x == INF or y == 0:
            return self.encode((negative, INF))
        return self.encode((negative, Fraction(0) if y == INF else Fraction(x) / y))

    def sqrt(self, a: int) -> int:
        negative, x = self.number(a)
        if x == NAN or (negative and x != 0):
            return self.nan
        if x in (INF, 0):
            return a
        k = 200 - _exponent(Fraction(x)) // 2
        scaled = Fraction(x) * Fraction(4) ** k
        low = math.isqrt(scaled.numerator // scaled.denominator) * Fraction(2) ** -k
        exact = low * low == x
        return self.encode((False, low if exact else low + Fraction(2) ** (-k - 1)))

    def less(self, a: int, b: int) -> bool:
        return self.compare(a, b) == -1

    def compare(self, a: int, b: int) -> int | None:
        """-1, 0, 1, or None if unordered."""
        x, y = self.signed(a), self.signed(b)
        if x is None or y is None:
            return None
        return (x > y) - (x < y)

    def signed(self, bits: int) -> Any:
        negative, x = self.number(bits)
        if x == NAN:
            return None
        if x == INF:
            return -math.inf if negative else math.inf
        return -x if negative else x

    def minimum(self, a: int, b: int) -> int:
        return self._pick(a, b, -1)

    def maximum(self, a: int, b: int) -> int:
        return self._pick(a, b, 1)

    def _pick(self, a: int, b: int, wanted: int) -> int:
        if self.is_nan(a):
            return b
        if self.is_nan(b):
            return a
        order = self.compare(a, b)
        if order == 0:
            negative = bool(a & self.sign)
            return a if negative == (wanted < 0) else b
        return a if order == wanted else b

    def integral(self, a: int, how: str) -> int:
        negative, x = self.number(a)
        if x in (NAN, INF) or x == 0:
            return a
        value = -x if negative else x
        rounded = {
            "floor": math.floor,
            "ceil": math.ceil,
            "trunc": math.trunc,
            "rint": lambda v: int(math.copysign(1, v)) * _nearest_even(abs(v)),
        }[how](value)
        return self.encode((negative if rounded == 0 else rounded < 0, Fraction(abs(rounded))))

    def convert(self, bits: int, target: Format) -> int:
        return target.encode(self.number(bits))

    def to_int(self, bits: int, low: int, high: int) -> int:
        x = self.signed(bits)
        if x is None:
            return 0
        if x in (math.inf, -math.inf):
            return high if x > 0 else low
        return max(low, min(high, math.trunc(x)))

    def from_int(self, n: int) -> int:
        return self.encode((n < 0, Fraction(abs(n))))

    def scale(self, bits: int, n: int) -> int:
        negative, x = self.number(bits)
        if x in (NAN, INF):
            return bits
        return self.encode((negative, Fraction(x) * Fraction(2) ** n))


def _exponent(x: Fraction) -> int:
    """e with 2**e <= x < 2**(e + 1)."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def _nearest_even(x: Fraction) -> int:
    whole = x.numerator // x.denominator
    rest = x - whole
    half = Fraction(1, 2)
    return whole + (1 if rest > half or (rest == half and whole & 1) else 0)


F16, F32, F64 = Format(10, 5), Format(23, 8), Format(52, 11)
