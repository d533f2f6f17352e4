"""Functions of words that are not polynomials: bit fields, bit operations, comparisons, halves and pairs.

    field(x, 3, 5)      bits 3 .. 7 of x. Terms that are multiples of 2**3 are shifted, the rest drops out where it is
                        known to lie below 2**3
    a | b               a + b - (a & b),  and a & b is a sum of bit fields where b is a constant
    a < b               0 or 1; where neither side can wrap, it is the sign of a - b

Each function first tries to see through its operands (numbers per thread, bounds, choices) and otherwise makes an atom.
Pairs of registers that an addition with carry has made are recognized as one 64-bit sum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from argus.machine.symbolic.sums import Arg, Atom, Coefficient, Monomial, Rows, Space, Sum, signed

M32 = 0xFFFFFFFF


class Words(Space):
    """A `Space` with every operation of the machine's integer arithmetic."""

    # -- bit fields -------------------------------------------------------------------------------------------------

    def low(self, x: Sum, count: int) -> Sum:
        """x modulo 2**count."""
        return x if count >= x.width else self.field(x, 0, count)

    def field(self, x: Sum, start: int, count: int) -> Sum:
        """Bits start .. start + count - 1 of x, as a word of its width."""
        count = min(count, x.width - start)
        if count <= 0:
            return self.const(0, x.width)
        if x.plain:
            return self._rows1(x, lambda r: r >> np.uint64(start) & np.uint64((1 << count) - 1))
        return self.lifted(lambda w: self._field(w, start, count), x) or self._field(x, start, count)

    def _field(self, x: Sum, start: int, count: int) -> Sum:
        if x.plain:
            return self.field(x, start, count)
        low, high = self.unsigned(x)
        if high >> start == 0:
            return self.const(0, x.width)
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
            assert isinstance(inner, Sum) and isinstance(at, int) and isinstance(size, int)
            return self.field(inner, at + start, min(count, max(size - start, 0)))
        top = min(high >> start, (1 << count) - 1)
        return self.word(self.atom("field", x, start, count, width=x.width, lo=low >> start if count + start >= x.width else 0, hi=top))

    def _reduced(self, x: Sum, count: int) -> Sum:
        """A word with the same lowest `count` bits: coefficients modulo 2**count."""
        mask = (1 << count) - 1
        return self.made(x.width, {m: c & mask if isinstance(c, int) else c & np.uint64(mask) for m, c in x.terms.items()})

    def _split(self, x: Sum, k: int) -> tuple[Sum, Sum]:
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

    def _down(self, x: Sum, k: int) -> Sum:
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

    def _rows1(self, x: Sum, f: Callable[[Rows], Rows]) -> Sum:
        return self.rows(f(self.row(x)), x.width)

    def row(self, x: Sum) -> Rows:
        """A plain word as one number per thread."""
        c = x.terms.get((), 0)
        return np.full(self.threads, c, np.uint64) if isinstance(c, int) else c

    # -- shifts -----------------------------------------------------------------------------------------------------

    def shl(self, x: Sum, n: Sum) -> Sum:
        k = n.constant
        if k is not None:
            return self.scale(x, 1 << k)
        if n.plain:
            return self.mul(x, self.rows(np.uint64(1) << self.row(n), x.width))
        return self.word(self.atom("shl", x, n, width=x.width))

    def lshr(self, x: Sum, n: Sum) -> Sum:
        k = n.constant
        if k is not None:
            return self.field(x, k, x.width - k) if k else x
        if x.plain and n.plain:
            return self.rows(self.row(x) >> self.row(n), x.width)
        return self.word(self.atom("lshr", x, n, width=x.width, hi=self.unsigned(x)[1]))

    def ashr(self, x: Sum, n: Sum) -> Sum:
        low, high = self.bounds(x)
        if low >= 0 and high < 1 << (x.width - 1):
            return self.lshr(x, n)
        if x.plain and n.plain:
            signs = np.where(self.row(x) >> np.uint64(x.width - 1) == 1, self.row(x) | np.uint64(-1 << x.width & (1 << 64) - 1), self.row(x)) if x.width == 32 else self.row(x)
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
        return self.word(self.atom("ashr", x, n, width=x.width))

    # -- bit operations ---------------------------------------------------------------------------------------------

    def and_(self, a: Sum, b: Sum) -> Sum:
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

    def _masked(self, x: Sum, mask: int) -> Sum:
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

    def _and(self, a: Sum, b: Sum) -> Sum:
        if a is b:
            return a
        if a.plain and b.plain or a.constant is not None or b.constant is not None:
            return self.and_(a, b)
        if not self.possible(a) & self.possible(b):
            return self.const(0, a.width)
        if self._is_bit(a) and self._is_bit(b):
            return self.mul(a, b)
        k = max(_zeros(a), _zeros(b))
        if k:
            ones = a.width - k
            return self.scale(self.and_(self.field(a, k, ones), self.field(b, k, ones)), 1 << k)
        first, second = sorted((a, b), key=_shape)
        top = min(self.unsigned(a)[1], self.unsigned(b)[1])
        return self.word(self.atom("and", first, second, width=a.width, hi=top))

    def _is_bit(self, x: Sum) -> bool:
        low, high = self.bounds(x)
        return low >= 0 and high <= 1

    def or_(self, a: Sum, b: Sum) -> Sum:
        return self.sub(self.add(a, b), self.and_(a, b))

    def xor(self, a: Sum, b: Sum) -> Sum:
        return self.sub(self.add(a, b), self.scale(self.and_(a, b), 2))

    def not_(self, a: Sum) -> Sum:
        return self.sub(self.const(-1, a.width), a)

    def possible(self, x: Sum) -> int:
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
        k = _low_zero(c)
        return ((1 << top.bit_length()) - 1) & ~((1 << k) - 1)

    # -- comparisons --------------------------------------------------------------------------------------------------

    def bit(self, op: str, *args: Arg) -> Sum:
        return self.word(self.atom(op, *args, bit=True))

    def lnot(self, p: Sum) -> Sum:
        return self.sub(self.one, p)

    def eq(self, a: Sum, b: Sum) -> Sum:
        d = self.sub(a, b)
        if not d.terms:
            return self.one
        if d.plain:
            return self.rows((self.row(d) == 0).astype(np.uint64))
        return self.lifted(self._zero, d) or self._zero(d)

    def _zero(self, d: Sum) -> Sum:
        if not d.terms or d.plain:
            return self.eq(d, self.const(0, d.width))
        low, high = self.bounds(d)
        if low > 0 and high < 1 << d.width or high < 0 and low > -(1 << d.width):
            return self.zero
        first = next(iter(d.terms.values())) if () not in d.terms or len(d.terms) == 1 else next(
            c for m, c in d.terms.items() if m
        )
        lead = first if isinstance(first, int) else int(first.max())
        if lead >> (d.width - 1):
            d = self.neg(d)
        return self.bit("eq", d)

    def slt(self, a: Sum, b: Sum) -> Sum:
        if a is b:
            return self.zero
        if a.plain and b.plain:
            return self.rows((self.signed_row(a) < self.signed_row(b)).astype(np.uint64))
        return self.lifted(self._slt, a, b) or self._slt(a, b)

    def signed_row(self, x: Sum) -> np.ndarray:
        r = self.row(x).view(np.int64)
        return np.where(r >> 31 == 1, r - (1 << 32), r) if x.width == 32 else r

    def _slt(self, a: Sum, b: Sum) -> Sum:
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

    def negative(self, d: Sum) -> Sum:
        """The sign bit of a 64-bit word."""
        low, high = self.bounds(d)
        if self.fits_signed(d) and high < 0:
            return self.one
        if self.fits_signed(d) and low >= 0:
            return self.zero
        if d.plain:
            return self.slt(d, self.const(0, 64))
        lead = next(c for m, c in d.terms.items() if m)
        if (lead if isinstance(lead, int) else int(lead.max())) >> 63:
            # d < 0  is  not (-d - 1 < 0) for whole numbers: one of the two forms is the normal one.
            return self.lnot(self.bit("negative", self.sub(self.const(-1, 64), d)))
        return self.bit("negative", d)

    def widened(self, x: Sum) -> Sum:
        """The whole number that x is, read with sign; only where it fits."""
        if x.width == 64:
            return x
        terms: dict[Monomial, Coefficient] = {}
        for m, c in x.terms.items():
            if isinstance(c, int):
                terms[m] = signed(c, 32)
            else:
                wide = c.astype(np.int64)
                terms[m] = np.where(wide >> 31 == 1, wide - (1 << 32), wide).view(np.uint64)
        return self.made(64, terms)

    def ult(self, a: Sum, b: Sum) -> Sum:
        if a is b or not b.terms:
            return self.zero
        if a.plain and b.plain:
            return self.rows((self.row(a) < self.row(b)).astype(np.uint64))
        return self.lifted(self._ult, a, b) or self._ult(a, b)

    def _ult(self, a: Sum, b: Sum) -> Sum:
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

    def select(self, p: Sum, a: Sum, b: Sum) -> Sum:
        if p.constant is None and a.width == 32 and not (a.plain and b.plain):
            below, above = self.slt(a, b), self.slt(b, a)
            if p is below or p is self.lnot(above):
                return self.minimum(a, b)
            if p is above or p is self.lnot(below):
                return self.sub(self.add(a, b), self.minimum(a, b))
        return self.choice(p, a, b)

    def choice(self, p: Sum, a: Sum, b: Sum) -> Sum:
        return self.add(b, self.mul(self.resized(p, a.width), self.sub(a, b)))

    def minimum(self, a: Sum, b: Sum) -> Sum:
        """The smaller one, read with sign; one form for the four comparisons that can choose it."""
        first, second = sorted((a, b), key=_shape)
        return self.choice(self.slt(first, second), first, second)

    def maximum(self, a: Sum, b: Sum) -> Sum:
        return self.sub(self.add(a, b), self.minimum(a, b))

    def udiv(self, a: Sum, b: Sum) -> Sum:
        """The quotient of numbers without sign, rounded down."""
        if a.plain and b.plain and bool(self.row(b).all()):
            return self.rows(self.row(a) // self.row(b))
        divisor = b.constant
        if divisor and divisor & (divisor - 1) == 0:
            return self.lshr(a, self.const(divisor.bit_length() - 1))
        top = self.unsigned(a)[1] // max(self.unsigned(b)[0], 1)
        return self.word(self.atom("udiv", a, b, hi=top))

    def some(self, p: Sum) -> Sum:
        """1 where some lane of the wave has p."""
        if p.uniform:
            return p
        if p.plain:
            rows = self.row(p).reshape(-1, 64).any(axis=1)
            return self.rows(np.repeat(rows, 64).astype(np.uint64))
        return self.word(self.atom("some", p, bit=True, uniform=True))

    def first_lane(self, x: Sum) -> Sum:
        return x if x.uniform else self.word(self.atom("first_lane", x, width=x.width, uniform=True))

    # -- 64 bits ------------------------------------------------------------------------------------------------------

    def zext(self, x: Sum) -> Sum:
        if x.plain:
            return self.rows(self.row(x), 64)
        if self.exact(x):
            return self.widened(x)
        return self.lifted(self.zext, x) or self.word(self.atom("zext", x, width=64, hi=M32))

    def sext(self, x: Sum) -> Sum:
        if x.plain:
            return self.rows(self.signed_row(x).view(np.uint64), 64)
        if self.fits_signed(x):
            return self.widened(x)
        return self.lifted(self.sext, x) or self.word(self.atom("sext", x, width=64))

    def trunc(self, x: Sum) -> Sum:
        total = self.zero
        for mono, c in x.terms.items():
            part = self.const(c & M32) if isinstance(c, int) else self.rows(c & np.uint64(M32))
            for a in mono:
                part = self.mul(part, self._low_half(a))
            total = self.add(total, part)
        return total

    def _low_half(self, a: Atom) -> Sum:
        if a.width == 32 or a.bit:
            return self.word(a, 32)
        if a.op in ("zext", "sext"):
            first = a.args[0]
            assert isinstance(first, Sum)
            return first
        return self.word(self.atom("low_half", self.word(a, 64), hi=M32))

    def reversed(self, x: Sum) -> Sum | None:
        """The bits of a plain word in opposite order."""
        if not x.plain:
            return None
        row = self.row(x)
        total = np.zeros_like(row)
        for k in range(32):
            total |= (row >> np.uint64(k) & np.uint64(1)) << np.uint64(31 - k)
        return self.rows(total)

    def high(self, x: Sum) -> Sum:
        if x.plain:
            return self.rows(self.row(x) >> np.uint64(32))
        up, rest = self._split(x, 32)
        above = self.trunc(self._down(up, 32))
        if self.exact(rest) and self.bounds(rest)[1] <= M32:
            return above
        return self.add(above, self.word(self.atom("high_half", rest, hi=M32)))

    def pair(self, lo: Sum, hi: Sum) -> Sum:
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

    def joined(self, x: Sum) -> Sum:
        """The same word without high halves and carries in its upper half, by three identities of 64-bit words:

        2**32 * high half of z      =  z - its low half
        2**32 * (a < b)             =  b + (a - b) - a      each extended by zeros: the carry of b + (a - b)
        2**32 * (d < 0)             =  d extended by zeros - d        for a difference d of two 32-bit numbers
        """
        for mono, c in x.terms.items():
            if _low_zero(c) < 32:
                continue
            for at, a in enumerate(mono):
                both = self._upper(a, x)
                if both is None:
                    continue
                rest = self.made(64, {mono[:at] + mono[at + 1 :]: self._down(self.made(64, {(): c}), 32).terms[()]})
                others = self.made(64, {m: k for m, k in x.terms.items() if m is not mono})
                return self.joined(self.add(others, self.mul(rest, both)))
        return x

    def _upper(self, a: Atom, x: Sum) -> Sum | None:
        """2**32 times the atom, in x."""
        first = a.args[0] if a.args else None
        if not isinstance(first, Sum):
            return None
        if a.op == "high_half":
            return self.sub(first, self.zext(self.trunc(first)))
        if a.op == "ult" and first.width == 32:
            second = a.args[1]
            assert isinstance(second, Sum)
            total = self.add(self.zext(second), self.zext(self.sub(first, second)))
            return self.sub(total, self.zext(first))
        if a.op == "negative":
            opposite = self.sub(self.const(-1, 64), first)
            for d in (first, opposite):
                low, high = self.bounds(d)
                extended = self.zext(self.trunc(d))
                if -(1 << 32) < low and high < 1 << 32 and extended.atoms <= x.atoms:
                    carry = self.sub(extended, d)
                    return carry if d is first else self.sub(self.const(1 << 32, 64), carry)
        return None


def only(x: Sum) -> Atom | None:
    """The atom that the word is."""
    if len(x.terms) != 1:
        return None
    mono, c = next(iter(x.terms.items()))
    return mono[0] if isinstance(c, int) and c == 1 and len(mono) == 1 else None


def _shape(x: Sum) -> list[tuple[tuple[int, ...], int]]:
    """An order of words that depends on their content."""
    return [
        (tuple(a.number for a in m), c if isinstance(c, int) else int.from_bytes(c.tobytes(), "little"))
        for m, c in x.terms.items()
    ]


def _low_zero(c: Coefficient) -> int:
    n = c if isinstance(c, int) else int(np.bitwise_or.reduce(c))
    return (n & -n).bit_length() - 1 if n else 64


def _zeros(x: Sum) -> int:
    """A number of low bits that are zero in every term."""
    return min((_low_zero(c) for c in x.terms.values()), default=x.width)
