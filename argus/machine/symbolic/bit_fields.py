"""Bit fields, shifts and bit operations of words.

    field(x, 3, 5)      bits 3 .. 7 of x. Terms that are multiples of 2**3 are shifted, the rest drops out where it is
                        known to lie below 2**3
    a | b               a + b - (a & b),  and a & b is a sum of bit fields where b is a constant

Each function first tries to see through its operands (numbers per thread, bounds, choices) and otherwise makes an atom.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from argus.machine.symbolic.sums import Atom, Coefficient, Monomial, Rows, Space, WordSum, signed


class BitFields(Space):
    """A `Space` with fields, shifts, and, or, exclusive or."""

    # -- bit fields -------------------------------------------------------------------------------------------------

    def low(self, x: WordSum, count: int) -> WordSum:
        """x modulo 2**count."""
        return x if count >= x.width else self.field(x, 0, count)

    def field(self, x: WordSum, start: int, count: int) -> WordSum:
        """Bits start .. start + count - 1 of x, as a word of its width."""
        count = min(count, x.width - start)
        if count <= 0:
            return self.const(0, x.width)
        if x.plain:
            return self._rows1(x, lambda r: r >> np.uint64(start) & np.uint64((1 << count) - 1))
        return self.lifted(lambda w: self._field(w, start, count), x) or self._field(x, start, count)

    def _field(self, x: WordSum, start: int, count: int) -> WordSum:
        if x.plain:
            return self.field(x, start, count)
        low, high = self.unsigned(x)
        if high >> start == 0:
            return self.const(0, x.width)
        even = min(start, _zeros(x))
        if even:
            # 2**k * y has the bits of y, k places up.
            return self.field(self._down(x, even), start - even, min(count, x.width - start))
        if high >> (start + count) == 0:
            count = x.width - start
            if not start:
                return x
        else:
            x = self._reduced(x, start + count)
            low, high = self.unsigned(x)
            if x.plain:
                return self.field(x, start, count)
            if high >> (start + count) == 0 and not start:
                return x
        if start:
            up, rest = self._split(x, start)
            least, most = self.bounds(rest)
            if up.terms and least >= 0 and most >> start == 0 and (count + start >= x.width and self.exact(x)):
                return self._down(up, start)
            if up.terms and least >= 0 and most >> start == 0 and count + start < x.width:
                return self.low(self._down(up, start), count)
        single = only(x)
        if single is not None and single.op == "field":
            inner, at, size = single.args
            assert isinstance(inner, WordSum)
            assert isinstance(at, int)
            assert isinstance(size, int)
            return self.field(inner, at + start, min(count, max(size - start, 0)))
        top = min(high >> start, (1 << count) - 1)
        return self.word(
            self.atom(
                "field", x, start, count, width=x.width, lo=low >> start if count + start >= x.width else 0, hi=top
            )
        )

    def _reduced(self, x: WordSum, count: int) -> WordSum:
        """A word with the same lowest `count` bits: coefficients modulo 2**count."""
        mask = (1 << count) - 1
        return self.made(
            x.width, {m: c & mask if isinstance(c, int) else c & np.uint64(mask) for m, c in x.terms.items()}
        )

    def _split(self, x: WordSum, k: int) -> tuple[WordSum, WordSum]:
        """(terms that are multiples of 2**k, the rest)."""
        unit = (1 << k) - 1
        up: dict[Monomial, Coefficient] = {}
        rest: dict[Monomial, Coefficient] = {}
        for mono, c in x.terms.items():
            if mono:
                whole = not c & unit if isinstance(c, int) else not (c & np.uint64(unit)).any()
                (up if whole else rest)[mono] = c
            elif isinstance(c, int):
                up[mono], rest[mono] = c & ~unit, c & unit
            else:
                up[mono], rest[mono] = c & np.uint64(~unit & (1 << 64) - 1), c & np.uint64(unit)
        return self.made(x.width, up), self.made(x.width, rest)

    def _down(self, x: WordSum, k: int) -> WordSum:
        """x / 2**k for a word all of whose coefficients are multiples; coefficients keep their sign."""
        terms: dict[Monomial, Coefficient] = {}
        for m, c in x.terms.items():
            if isinstance(c, int):
                terms[m] = signed(c, x.width) >> k
            elif x.width == 64:
                terms[m] = (c.view(np.int64) >> np.int64(k)).view(np.uint64)
            else:
                wide = c.astype(np.int64)
                wide = np.where(wide >> 31 == 1, wide - (1 << 32), wide)
                terms[m] = (wide >> np.int64(k)).view(np.uint64)
        return self.made(x.width, terms)

    def _rows1(self, x: WordSum, f: Callable[[Rows], Rows]) -> WordSum:
        return self.rows(f(self.row(x)), x.width)

    def row(self, x: WordSum) -> Rows:
        """A plain word as one number per thread."""
        c = x.terms.get((), 0)
        return np.full(self.threads, c, np.uint64) if isinstance(c, int) else c

    # -- shifts -----------------------------------------------------------------------------------------------------

    def shl(self, x: WordSum, n: WordSum) -> WordSum:
        k = n.constant
        if k is not None:
            return self.scale(x, 1 << k)
        if n.plain:
            return self.mul(x, self.rows(np.uint64(1) << self.row(n), x.width))
        return self.word(self.atom("shl", x, n, width=x.width))

    def lshr(self, x: WordSum, n: WordSum) -> WordSum:
        k = n.constant
        if k is not None:
            return self.field(x, k, x.width - k) if k else x
        if x.plain and n.plain:
            return self.rows(self.row(x) >> self.row(n), x.width)
        return self.word(self.atom("lshr", x, n, width=x.width, hi=self.unsigned(x)[1]))

    def ashr(self, x: WordSum, n: WordSum) -> WordSum:
        low, high = self.bounds(x)
        if low >= 0 and high < 1 << (x.width - 1):
            return self.lshr(x, n)
        if x.plain and n.plain:
            signs = (
                np.where(
                    self.row(x) >> np.uint64(x.width - 1) == 1,
                    self.row(x) | np.uint64(-1 << x.width & (1 << 64) - 1),
                    self.row(x),
                )
                if x.width == 32
                else self.row(x)
            )
            return self.rows((signs.view(np.int64) >> self.row(n).view(np.int64)).view(np.uint64), x.width)
        k = n.constant
        if k is not None:
            lifted = self.lifted(lambda w: self.ashr(w, n), x)
            if lifted is not None:
                return lifted
            up, rest = self._split(x, k)
            least, most = self.bounds(rest)
            if up.terms and least >= 0 and most >> k == 0 and self.fits_signed(x):
                return self._down(up, k)
            # With the sign bit turned over, a number with sign is one without, 2**(width - 1) higher.
            half = 1 << (x.width - 1)
            raised = self.lshr(self.add(x, self.const(half, x.width)), n)
            return self.sub(raised, self.const(half >> k, x.width))
        return self.word(self.atom("ashr", x, n, width=x.width))

    # -- bit operations ---------------------------------------------------------------------------------------------

    def and_(self, a: WordSum, b: WordSum) -> WordSum:
        if a is b:
            return a
        if a.plain and b.plain:
            return self.rows(self.row(a) & self.row(b), a.width)
        if a.constant is not None:
            a, b = b, a
        mask = b.constant
        if mask is not None:
            return self._masked(a, mask)
        return self.lifted(self._and, a, b) or self._and(a, b)

    def _masked(self, x: WordSum, mask: int) -> WordSum:
        """x & mask: one bit field for each run of ones."""
        total = self.const(0, x.width)
        at = 0
        while mask >> at:
            at += ((mask >> at) & -(mask >> at)).bit_length() - 1
            rest = mask >> at
            count = (~rest & rest + 1).bit_length() - 1
            total = self.add(total, self.scale(self.field(x, at, count), 1 << at))
            at += count
        return total

    def _and(self, a: WordSum, b: WordSum) -> WordSum:
        if a is b:
            return a
        if (a.plain and b.plain) or a.constant is not None or b.constant is not None:
            return self.and_(a, b)
        if not self.possible(a) & self.possible(b):
            return self.const(0, a.width)
        if self._is_bit(a) and self._is_bit(b):
            return self.mul(a, b)
        k = max(_zeros(a), _zeros(b))
        if k:
            ones = a.width - k
            return self.scale(self.and_(self.field(a, k, ones), self.field(b, k, ones)), 1 << k)
        first, second = sorted((a, b), key=shape)
        top = min(self.unsigned(a)[1], self.unsigned(b)[1])
        return self.word(self.atom("and", first, second, width=a.width, hi=top))

    def _is_bit(self, x: WordSum) -> bool:
        low, high = self.bounds(x)
        return low >= 0 and high <= 1

    def or_(self, a: WordSum, b: WordSum) -> WordSum:
        return self.sub(self.add(a, b), self.and_(a, b))

    def xor(self, a: WordSum, b: WordSum) -> WordSum:
        return self.sub(self.add(a, b), self.scale(self.and_(a, b), 2))

    def not_(self, a: WordSum) -> WordSum:
        return self.sub(self.const(-1, a.width), a)

    def possible(self, x: WordSum) -> int:
        """A mask of the bits that may be set."""
        if x.plain:
            return int(np.bitwise_or.reduce(self.row(x)))
        full = (1 << x.width) - 1
        most = self.unsigned(x)[1]
        mask = (1 << most.bit_length()) - 1
        k = _zeros(x)
        parts, used = 0, 0
        for mono, c in x.terms.items():
            part = self.possible_of(mono, c, x.width)
            if part & used:
                return mask & full & ~((1 << k) - 1)
            used |= part
            parts |= part
        return parts & mask

    def possible_of(self, mono: Monomial, c: Coefficient, width: int) -> int:
        if not mono:
            return c if isinstance(c, int) else int(np.bitwise_or.reduce(c))
        top = c if isinstance(c, int) else int(c.max())
        for a in mono:
            top *= a.hi
        if top >> width:
            return (1 << width) - 1
        k = low_zeros(c)
        return ((1 << top.bit_length()) - 1) & ~((1 << k) - 1)


def only(x: WordSum) -> Atom | None:
    """The atom that the word is."""
    if len(x.terms) != 1:
        return None
    mono, c = next(iter(x.terms.items()))
    return mono[0] if isinstance(c, int) and c == 1 and len(mono) == 1 else None


def shape(x: WordSum) -> list[tuple[tuple[int, ...], int]]:
    """An order of words that depends on their content."""
    return [
        (tuple(a.number for a in m), c if isinstance(c, int) else int.from_bytes(c.tobytes(), "little"))
        for m, c in x.terms.items()
    ]


def low_zeros(c: Coefficient) -> int:
    n = c if isinstance(c, int) else int(np.bitwise_or.reduce(c))
    return (n & -n).bit_length() - 1 if n else 64


def _zeros(x: WordSum) -> int:
    """A number of low bits that are zero in every term."""
    return min((low_zeros(c) for c in x.terms.values()), default=x.width)
