"""64-bit words: halves, pairs, extensions. `Words` has every operation of the machine's integer arithmetic.

Pairs of registers that an addition with carry has made are recognized as one 64-bit sum, by identities that hold for
all words (`joined`), so a base address computed by s_add_u32 and s_addc_u32 is pointer + offset again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from argus.machine.symbolic.bit_fields import low_zeros
from argus.machine.symbolic.lanes import LaneWords
from argus.machine.symbolic.sums import Atom, WordSum

M32 = 0xFFFFFFFF


class Words(LaneWords):
    """Words of 32 and 64 bits over the threads of one workgroup."""

    # -- 64 bits ------------------------------------------------------------------------------------------------------

    def zext(self, x: WordSum) -> WordSum:
        if x.plain:
            return self.rows(self.row(x), 64)
        if self.exact(x):
            return self.widened(x)
        return self.lifted(self.zext, x) or self.word(self.atom("zext", x, width=64, hi=M32))

    def sext(self, x: WordSum) -> WordSum:
        if x.plain:
            return self.rows(self.signed_row(x).view(np.uint64), 64)
        if self.fits_signed(x):
            return self.widened(x)
        return self.lifted(self.sext, x) or self.word(self.atom("sext", x, width=64))

    def trunc(self, x: WordSum) -> WordSum:
        total = self.zero
        for mono, c in x.terms.items():
            part = self.const(c & M32) if isinstance(c, int) else self.rows(c & np.uint64(M32))
            for a in mono:
                part = self.mul(part, self._low_half(a))
            total = self.add(total, part)
        return total

    def _low_half(self, a: Atom) -> WordSum:
        if a.width == 32 or a.bit:
            return self.word(a, 32)
        if a.op in ("zext", "sext"):
            first = a.args[0]
            assert isinstance(first, WordSum)
            return first
        return self.word(self.atom("low_half", self.word(a, 64), hi=M32))

    def reversed(self, x: WordSum) -> WordSum | None:
        """The bits of a plain word in opposite order."""
        if not x.plain:
            return None
        row = self.row(x)
        total = np.zeros_like(row)
        for k in range(32):
            total |= (row >> np.uint64(k) & np.uint64(1)) << np.uint64(31 - k)
        return self.rows(total)

    def high(self, x: WordSum) -> WordSum:
        if x.plain:
            return self.rows(self.row(x) >> np.uint64(32))
        up, rest = self._split(x, 32)
        above = self.trunc(self._down(up, 32))
        if self.exact(rest) and self.bounds(rest)[1] <= M32:
            return above
        return self.add(above, self.word(self.atom("high_half", rest, hi=M32)))

    def pair(self, lo: WordSum, hi: WordSum) -> WordSum:
        """Two registers as one 64-bit word, lo + 2**32 * hi; sums with carry are put together again."""
        if lo.plain and hi.plain:
            return self.rows(self.row(lo) | self.row(hi) << np.uint64(32), 64)
        if hi is self.ashr(lo, self.const(31)):
            return self.sext(lo)
        total = self.zext(lo)
        for mono, c in hi.terms.items():
            part = self.scale(self.made(64, {(): c}), 1 << 32)
            for a in mono:
                part = self.mul(part, self.word(a, 64))
            total = self.add(total, part)
        return self.joined(total)

    def joined(self, x: WordSum) -> WordSum:
        """The same word without high halves and carries in its upper half, by three identities of 64-bit words:

        2**32 * high half of z      =  z - its low half
        2**32 * (a < b)             =  b + (a - b) - a      each extended by zeros: the carry of b + (a - b)
        2**32 * (d < 0)             =  d extended by zeros - d        for a difference d of two 32-bit numbers
        """
        for mono, c in x.terms.items():
            if low_zeros(c) < 32:
                continue
            for at, a in enumerate(mono):
                both = self._upper(a, x)
                if both is None:
                    continue
                rest = self.made(64, {mono[:at] + mono[at + 1 :]: self._down(self.made(64, {(): c}), 32).terms[()]})
                others = self.made(64, {m: k for m, k in x.terms.items() if m is not mono})
                return self.joined(self.add(others, self.mul(rest, both)))
        return x

    def _upper(self, a: Atom, x: WordSum) -> WordSum | None:
        """2**32 times the atom, in x."""
        first = a.args[0] if a.args else None
        if not isinstance(first, WordSum):
            return None
        if a.op == "high_half":
            return self.sub(first, self.zext(self.trunc(first)))
        if a.op == "ult" and first.width == 32:
            second = a.args[1]
            assert isinstance(second, WordSum)
            total = self.add(self.zext(second), self.zext(self.sub(first, second)))
            return self.sub(total, self.zext(first))
        if a.op == "negative":
            sign, flipped = self.word(a), self.lnot(self.word(a))
            for d in self._differences(first, x):
                low, high = self.bounds(d)
                if low <= -(1 << 32) or high >= 1 << 32 or self.negative(d) not in (sign, flipped):
                    continue
                extended = self.zext(self.trunc(d))
                if extended.atoms <= x.atoms:
                    carry = self.sub(extended, d)
                    return carry if self.negative(d) is sign else self.sub(self.const(1 << 32, 64), carry)
        return None

    def _differences(self, d: WordSum, x: WordSum) -> Iterator[WordSum]:
        """Numbers whose sign an atom of x may be: its argument, the opposite, and what x has the low half of."""
        yield d
        yield self.sub(self.const(-1, 64), d)
        for a in sorted(x.atoms, key=lambda atom: atom.number):
            if a.op == "zext" and isinstance(a.args[0], WordSum):
                yield self.widened(a.args[0])
