"""Comparisons and choices: words that are 0 or 1, and what is picked by them.

    a < b               where neither side can wrap, it is the sign of a - b as a whole number, so that a + c < b + c is
                        the same atom
    min(a, b)           one form for the four comparisons that can choose it

Relations between different comparisons (a < b and b < c) are unknown here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from argus.machine.symbolic.bit_fields import BitFields, low_zeros, shape
from argus.machine.symbolic.sums import Arg, WordSum, signed


class Comparisons(BitFields):
    """Signed and unsigned comparisons, minimum, maximum, quotient."""

    # -- comparisons --------------------------------------------------------------------------------------------------

    def bit(self, op: str, *args: Arg) -> WordSum:
        return self.word(self.atom(op, *args, bit=True))

    def lnot(self, p: WordSum) -> WordSum:
        return self.sub(self.one, p)

    def eq(self, a: WordSum, b: WordSum) -> WordSum:
        d = self.sub(a, b)
        if not d.terms:
            return self.one
        if d.plain:
            return self.rows((self.row(d) == 0).astype(np.uint64))
        return self.lifted(self._zero, d) or self._zero(d)

    def _zero(self, d: WordSum) -> WordSum:
        if not d.terms or d.plain:
            return self.eq(d, self.const(0, d.width))
        low, high = self.bounds(d)
        if (low > 0 and high < 1 << d.width) or (high < 0 and low > -(1 << d.width)):
            return self.zero
        first = next(c for m, c in d.terms.items() if m)
        lead = first if isinstance(first, int) else int(first.max())
        if lead >> (d.width - 1):
            d = self.neg(d)
        return self.bit("eq", d)

    def slt(self, a: WordSum, b: WordSum) -> WordSum:
        if a is b:
            return self.zero
        if a.plain and b.plain:
            return self.rows((self.signed_row(a) < self.signed_row(b)).astype(np.uint64))
        return self.lifted(self._slt, a, b) or self._slt(a, b)

    def signed_row(self, x: WordSum) -> NDArray[np.int64]:
        r = self.row(x).view(np.int64)
        return np.where(r >> 31 == 1, r - (1 << 32), r) if x.width == 32 else r

    def _slt(self, a: WordSum, b: WordSum) -> WordSum:
        if a is b or (a.plain and b.plain):
            return self.slt(a, b)
        if a.width == 32 and self.fits_signed(a) and self.fits_signed(b):
            return self.negative(self.sub(self.widened(a), self.widened(b)))
        if a.width == 64 and not b.terms:
            return self.negative(a)
        if a.width == 64 and b.constant is not None and self.fits_signed(a):
            low, high = self.bounds(a)
            limit = signed(b.constant, 64)
            if high < limit or low >= limit:
                return self.one if high < limit else self.zero
        c = a.constant
        if c is not None and c != (1 << (a.width - 1)) - 1:
            return self.lnot(self._slt(b, self.const(c + 1, a.width)))
        return self.bit("slt", a, b)

    def negative(self, d: WordSum) -> WordSum:
        """The sign bit of a 64-bit word."""
        low, high = self.bounds(d)
        if self.fits_signed(d) and high < 0:
            return self.one
        if self.fits_signed(d) and low >= 0:
            return self.zero
        if d.plain:
            return self.slt(d, self.const(0, 64))
        k = min(low_zeros(c) for m, c in d.terms.items() if m)
        if k and self.fits_signed(d):
            # 2**k * y + c < 0  is  y + (c >> k) < 0 for whole numbers.
            up = self.made(64, {m: c for m, c in d.terms.items() if m})
            rest = self.ashr(self.sub(d, up), self.const(k))
            return self.negative(self.add(self._down(up, k), rest))
        lead = next(c for m, c in d.terms.items() if m)
        if (lead if isinstance(lead, int) else int(lead.max())) >> 63:
            # d < 0  is  not (-d - 1 < 0) for whole numbers: one of the two forms is the normal one.
            return self.lnot(self.bit("negative", self.sub(self.const(-1, 64), d)))
        return self.bit("negative", d)

    def widened(self, x: WordSum) -> WordSum:
        """The whole number that x is, read with sign; only where it fits."""
        if x.width == 64:
            return x
        cases = self.lifted(self.widened, x)
        if cases is not None:
            return cases
        return self.resized(x, 64)

    def ult(self, a: WordSum, b: WordSum) -> WordSum:
        if a is b or not b.terms:
            return self.zero
        if a.plain and b.plain:
            return self.rows((self.row(a) < self.row(b)).astype(np.uint64))
        return self.lifted(self._ult, a, b) or self._ult(a, b)

    def _ult(self, a: WordSum, b: WordSum) -> WordSum:
        if a is b or not b.terms or (a.plain and b.plain):
            return self.ult(a, b)
        if b.constant == 1:
            return self.eq(a, self.const(0, a.width))
        if self.exact(a) and self.exact(b) and a.width == 32:
            return self.negative(self.sub(self.widened(a), self.widened(b)))
        c = a.constant
        if c and c != (1 << a.width) - 1:
            return self.lnot(self.ult(b, self.const(c + 1, a.width)))
        return self.bit("ult", a, b)

    def select(self, p: WordSum, a: WordSum, b: WordSum) -> WordSum:
        if p.constant is None and a.width == 32 and not (a.plain and b.plain):
            below, above = self.slt(a, b), self.slt(b, a)
            if p is below or p is self.lnot(above):
                return self.minimum(a, b)
            if p is above or p is self.lnot(below):
                return self.sub(self.add(a, b), self.minimum(a, b))
        return self.choice(p, a, b)

    def choice(self, p: WordSum, a: WordSum, b: WordSum) -> WordSum:
        return self.add(b, self.mul(self.resized(p, a.width), self.sub(a, b)))

    def minimum(self, a: WordSum, b: WordSum) -> WordSum:
        """The smaller one, read with sign; one form for the four comparisons that can choose it."""
        first, second = sorted((a, b), key=shape)
        return self.choice(self.slt(first, second), first, second)

    def maximum(self, a: WordSum, b: WordSum) -> WordSum:
        return self.sub(self.add(a, b), self.minimum(a, b))

    def udiv(self, a: WordSum, b: WordSum) -> WordSum:
        """The quotient of numbers without sign, rounded down."""
        if a.plain and b.plain and bool(self.row(b).all()):
            return self.rows(self.row(a) // self.row(b))
        divisor = b.constant
        if divisor and divisor & (divisor - 1) == 0:
            return self.lshr(a, self.const(divisor.bit_length() - 1))
        top = self.unsigned(a)[1] // max(self.unsigned(b)[0], 1)
        return self.word(self.atom("udiv", a, b, hi=top))
