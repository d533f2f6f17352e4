"""Machine words as polynomials modulo 2**w whose coefficients are rows over the threads of a workgroup.

    v1 = v0 & 63                          row [0, 1, .. 63, 0, 1, ..]                   a number per thread
    v2 = K * (v1 >> 3) + 16 * (v1 & 7)    K * [0 .. 0, 1 .. 1, ..] + [0, 16, 32, ..]   two monomials
    v3 = v2 if row < M else 2**31         2**31 + bit(row < M) * (v2 - 2**31)          a choice is a product

Two words that are equal as polynomials are equal for every thread and every value of the symbols, so most questions
about addresses are answered by comparing normal forms. Whatever depends on the thread alone is enumerated, swizzles
included; a condition is a word that is 0 or 1, its conjunction a product, and `c * (a - b) == 0` says that a and b are
equal where c holds. A function that is not a polynomial (a bit field of a symbol, a comparison) is an `Atom`: the same
function of the same words is the same atom.

Why rows: on this machine a thread number has at most ten bits, and what compilers do to it (shifts, masks, exclusive
or, disjoint or) has no other common normal form. What it cannot do: two different atoms are never seen to be equal, and
relations between comparisons are unknown to it. Then a solver is asked, or nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.uint64]
Coefficient = int | Rows
Monomial = tuple["Atom", ...]
Arg = Union["WordSum", int, str]

MOST_TERMS = 400
"""Monomials of one word; beyond that it becomes an atom of its own."""
MOST_BITS = 5
"""Conditions over which a function of a choice is expanded."""


class Atom:
    """A word that is not a polynomial of others: a symbol, or `op` of words.

    lo, hi    bounds of its value, read without sign
    bit       it is 0 or 1, so a square is itself
    uniform   all lanes of a wave agree
    varies    loops in which it has another value in every iteration
    """

    __slots__ = ("args", "bit", "hi", "lo", "number", "op", "uniform", "varies", "width")

    def __init__(
        self, number: int, op: str, args: tuple[Arg, ...], width: int, lo: int, hi: int, bit: bool, uniform: bool,
        varies: frozenset[int],
    ) -> None:  # fmt: skip
        self.number, self.op, self.args, self.width = number, op, args, width
        self.lo, self.hi, self.bit, self.uniform, self.varies = lo, hi, bit, uniform, varies

    def __repr__(self) -> str:
        shown = ", ".join(str(a) for a in self.args)
        return f"{self.op}({shown})" if self.args else self.op


class WordSum:
    """A word of `width` bits: monomial -> coefficient. Made and interned by a `Space`; equal words are one object."""

    __slots__ = ("atoms", "terms", "uniform", "varies", "width")

    def __init__(self, width: int, terms: dict[Monomial, Coefficient], uniform: bool) -> None:
        self.width, self.terms, self.uniform = width, terms, uniform
        self.atoms: frozenset[Atom] = frozenset(a for mono in terms for a in mono)
        self.varies: frozenset[int] = frozenset().union(*(a.varies for a in self.atoms)) if self.atoms else frozenset()
        if uniform and not all(a.uniform for a in self.atoms):
            self.uniform = False

    @property
    def plain(self) -> bool:
        """It depends on the thread alone."""
        return not self.atoms

    @property
    def constant(self) -> int | None:
        """Its value if it is the same for every thread and symbol."""
        if not self.terms:
            return 0
        only = self.terms.get(())
        return only if len(self.terms) == 1 and isinstance(only, int) else None

    def __repr__(self) -> str:
        shown = []
        for mono, c in self.terms.items():
            factor = str(signed(c, self.width)) if isinstance(c, int) else f"[{c[0]} {c[1]} .. {c[-1]}]"
            shown.append("*".join([factor, *map(repr, mono)]))
        return " + ".join(shown) or "0"


def signed(c: int, width: int) -> int:
    return c - (1 << width) if c >> (width - 1) else c


class Space:
    """The words of one kernel: interning, arithmetic, bounds."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.thread: Rows = np.arange(threads, dtype=np.uint64)
        self._atoms: dict[tuple[Any, ...], Atom] = {}
        self._sums: dict[tuple[Any, ...], WordSum] = {}
        self._products: dict[tuple[WordSum, WordSum], WordSum] = {}
        self._bounds: dict[WordSum, tuple[int, int]] = {}
        self._limits: dict[Monomial, int] = {}
        self._exclusive: dict[tuple[Atom, Atom], bool] = {}
        self.zero, self.one = self.const(0), self.const(1)

    # -- making ---------------------------------------------------------------------------------------------------

    def atom(
        self, op: str, *args: Arg, width: int = 32, lo: int = 0, hi: int | None = None, bit: bool = False,
        uniform: bool | None = None, varies: Iterable[int] = (),
    ) -> Atom:  # fmt: skip
        """The atom `op(args)`. Lanes agree on it if they do on its arguments, unless `uniform` says otherwise."""
        key = (op, width, args)
        known = self._atoms.get(key)
        if known is None:
            words = [a for a in args if isinstance(a, WordSum)]
            loops = frozenset(varies).union(*(w.varies for w in words)) if words else frozenset(varies)
            most = (1 << width) - 1 if hi is None else hi
            agree = all(w.uniform for w in words) if uniform is None else uniform
            known = Atom(len(self._atoms), op, args, width, lo, 1 if bit else most, bit, agree, loops)
            self._atoms[key] = known
        return known

    def word(self, atom: Atom, width: int | None = None) -> WordSum:
        return self._intern(width or atom.width, {(atom,): 1})

    def const(self, n: int, width: int = 32) -> WordSum:
        n &= (1 << width) - 1
        return self._intern(width, {(): n} if n else {})

    def rows(self, values: Rows, width: int = 32) -> WordSum:
        return self.made(width, {(): values})

    def made(self, width: int, terms: Mapping[Monomial, Coefficient]) -> WordSum:
        """The word with these coefficients, reduced modulo 2**width; rows that are constant become numbers."""
        mask = (1 << width) - 1
        kept: dict[Monomial, Coefficient] = {}
        for mono, c in terms.items():
            if isinstance(c, int):
                c &= mask
                if c:
                    kept[mono] = c
                continue
            if width < 64:
                c = c & np.uint64(mask)
            first = int(c[0])
            if (c == c[0]).all():
                if first:
                    kept[mono] = first
            else:
                kept[mono] = c
        if any(a.op == "field" and a.args[1] for mono in kept for a in mono):
            kept = self._merged_fields(width, kept)
        return self._intern(width, kept)

    def _merged_fields(self, width: int, terms: dict[Monomial, Coefficient]) -> dict[Monomial, Coefficient]:
        """2**k * bits k .. k+w of x + its lowest k bits  =  its lowest k+w bits."""
        for mono, c in terms.items():
            for at, a in enumerate(mono):
                if a.op != "field" or not a.args[1]:
                    continue
                x, low, count = a.args
                assert isinstance(x, WordSum)
                assert isinstance(low, int)
                assert isinstance(count, int)
                below = self.low(x, low)
                (only,) = below.terms if len(below.terms) == 1 else ((),)
                rest = mono[:at] + mono[at + 1 :]
                partner = _joined(rest, only)
                if not only or partner not in terms or not _divisible(c, low):
                    continue
                down = _shifted_down(c, low)
                if not np.array_equal(terms[partner], down):
                    continue
                share = self._intern(width, {rest: down})
                others = self._intern(width, {m: k for m, k in terms.items() if m not in (mono, partner)})
                return self.add(others, self.mul(share, self.resized(self.low(x, low + count), width))).terms
        return terms

    def resized(self, x: WordSum, width: int) -> WordSum:
        """The same number in another width; to a wider one only where the polynomial, its coefficients read with sign,
        does not wrap (its caller's care: conditions, and words within their bounds)."""
        if x.width >= width:
            return x if x.width == width else self.made(width, x.terms)
        terms: dict[Monomial, Coefficient] = {}
        for m, c in x.terms.items():
            if isinstance(c, int):
                terms[m] = signed(c, 32)
            else:
                wide = c.astype(np.int64)
                terms[m] = np.where(wide >> 31 == 1, wide - (1 << 32), wide).view(np.uint64)
        return self.made(width, terms)

    def low(self, x: WordSum, count: int) -> WordSum:
        """The lowest `count` bits: replaced by `argus.machine.symbolic.words` at import, which knows bit fields."""
        raise NotImplementedError

    def _intern(self, width: int, terms: dict[Monomial, Coefficient]) -> WordSum:
        if len(terms) > 1:
            terms = {m: terms[m] for m in sorted(terms, key=lambda mono: [a.number for a in mono])}
        key = (
            width,
            tuple((tuple([a.number for a in m]), c if isinstance(c, int) else c.tobytes()) for m, c in terms.items()),
        )
        known = self._sums.get(key)
        if known is None:
            agree = all(isinstance(c, int) or self._per_wave(c) for c in terms.values())
            known = self._sums[key] = WordSum(width, terms, agree)
        return known

    def _per_wave(self, c: Rows) -> bool:
        whole = self.threads // 64 * 64
        return whole == self.threads and bool((c.reshape(-1, 64) == c[::64, None]).all())

    # -- ring -----------------------------------------------------------------------------------------------------

    def add(self, a: WordSum, b: WordSum) -> WordSum:
        if not a.terms:
            return b
        if not b.terms:
            return a
        terms: dict[Monomial, Coefficient] = dict(a.terms)
        for mono, c in b.terms.items():
            terms[mono] = _plus(terms[mono], c) if mono in terms else c
        return self.made(a.width, terms)

    def neg(self, a: WordSum) -> WordSum:
        return self.scale(a, -1)

    def sub(self, a: WordSum, b: WordSum) -> WordSum:
        return self.zero if a is b and a.width == 32 else self.add(a, self.neg(b))

    def scale(self, a: WordSum, k: int) -> WordSum:
        mask = (1 << a.width) - 1
        k &= mask
        return self.made(a.width, {m: c * k if isinstance(c, int) else _times(c, k) for m, c in a.terms.items()})

    def mul(self, a: WordSum, b: WordSum) -> WordSum:
        if a.constant is not None:
            return self.scale(b, a.constant)
        if b.constant is not None:
            return self.scale(a, b.constant)
        key = (a, b)
        known = self._products.get(key)
        if known is None:
            known = self._products[key] = self._product(a, b)
        return known

    def _product(self, a: WordSum, b: WordSum) -> WordSum:
        if len(a.terms) * len(b.terms) > MOST_TERMS:
            return self.word(self.atom("mul", a, b, width=a.width))
        terms: dict[Monomial, Coefficient] = {}
        for m, c in a.terms.items():
            for n, d in b.terms.items():
                mono = _joined(m, n)
                if self._excluded(mono):
                    continue
                product = c * d if isinstance(c, int) and isinstance(d, int) else _times(c, d)
                terms[mono] = _plus(terms[mono], product) if mono in terms else product
        return self.made(a.width, terms)

    def _excluded(self, mono: Monomial) -> bool:
        """Two of its factors are x == 0 and y == 0 for x and y whose difference is never zero."""
        equal = [a for a in mono if a.op == "eq"]
        for at, a in enumerate(equal):
            for b in equal[at + 1 :]:
                known = self._exclusive.get((a, b))
                if known is None:
                    x, y = a.args[0], b.args[0]
                    assert isinstance(x, WordSum)
                    assert isinstance(y, WordSum)
                    known = x.width == y.width and any(
                        d.plain and bool(np.all(d.terms.get((), 0))) for d in (self.sub(x, y), self.add(x, y))
                    )
                    self._exclusive[a, b] = known
                if known:
                    return True
        return False

    # -- bounds ---------------------------------------------------------------------------------------------------

    def limit(self, factors: Iterable[Atom], most: int) -> None:
        """The product of these symbols is at most `most`, as somebody else has shown."""
        key = tuple(sorted(factors, key=lambda a: a.number))
        self._limits[key] = min(most, self._limits.get(key, most))

    def bounds(self, x: WordSum) -> tuple[int, int]:
        """Bounds of a whole number that x is modulo 2**width: the polynomial with coefficients read with sign, in each
        case of the choices in it."""
        known = self._bounds.get(x)
        if known is not None:
            return known
        bits = self.choices(x)
        if bits:
            off, on = self.bounds(self.with_bit(x, bits[0], 0)), self.bounds(self.with_bit(x, bits[0], 1))
            known = min(off[0], on[0]), max(off[1], on[1])
        else:
            known = self._interval(x)
        self._bounds[x] = known
        return known

    def _interval(self, x: WordSum) -> tuple[int, int]:
        low = high = 0
        for mono, c in x.terms.items():
            least, most = self.product_bounds(mono)
            if isinstance(c, int):
                cs = [signed(c, x.width)]
            else:
                view = c.view(np.int64) if x.width == 64 else c.astype(np.int64)
                if x.width == 32:
                    view = np.where(view >> 31 == 1, view - (1 << 32), view)
                cs = [int(view.min()), int(view.max())]
            ends = [k * m for k in cs for m in (least, most)]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def product_bounds(self, mono: Monomial) -> tuple[int, int]:
        """Bounds of a product of atoms as a whole number."""
        least, most = 1, 1
        for a in mono:
            least, most = least * a.lo, most * a.hi
        if self._limits and len(mono) > 1:
            most = min(most, self._limited(mono))
        return least, most

    def _limited(self, mono: Monomial) -> int:
        """A bound of a product from that of two of its factors."""
        best = 1 << 200
        for at, a in enumerate(mono):
            for b in mono[at + 1 :]:
                known = self._limits.get((a, b))
                if known is not None:
                    for other in mono:
                        if other is not a and other is not b:
                            known *= other.hi
                    best = min(best, known)
        return best

    def exact(self, x: WordSum) -> bool:
        """The word, read without sign, is the polynomial over whole numbers."""
        low, high = self.bounds(x)
        return low >= 0 and high < 1 << x.width

    def unsigned(self, x: WordSum) -> tuple[int, int]:
        low, high = self.bounds(x)
        return (low, high) if low >= 0 and high < 1 << x.width else (0, (1 << x.width) - 1)

    def fits_signed(self, x: WordSum) -> bool:
        low, high = self.bounds(x)
        return low >= -(1 << (x.width - 1)) and high < 1 << (x.width - 1)

    # -- bits -----------------------------------------------------------------------------------------------------

    def with_bit(self, x: WordSum, bit: Atom, value: int) -> WordSum:
        """x where the condition `bit` is 0 or 1."""
        terms: dict[Monomial, Coefficient] = {}
        for mono, c in x.terms.items():
            if bit in mono:
                if not value:
                    continue
                mono = tuple([a for a in mono if a is not bit])
            terms[mono] = _plus(terms[mono], c) if mono in terms else c
        return self.made(x.width, terms)

    def choices(self, *words: WordSum) -> list[Atom]:
        """The conditions over which functions of these words go by cases; none where there are too many. Carries are
        not among them: they belong to 64-bit sums."""
        bits = sorted({a for w in words for a in w.atoms if a.bit and a.op != "ult"}, key=lambda a: a.number)
        return bits if len(bits) <= MOST_BITS else []

    def lifted(self, f: Callable[..., WordSum], *words: WordSum) -> WordSum | None:
        """f by cases where a word has choices in it, or None where none has: f(b ? x : y) is b ? f(x) : f(y)."""
        bits = self.choices(*words)
        if not bits:
            return None
        cases = [[self.with_bit(w, bits[0], value) for w in words] for value in (0, 1)]
        off, on = (self.lifted(f, *case) or f(*case) for case in cases)
        if on is off:
            return off
        chosen = self.word(bits[0], off.width)
        return self.add(off, self.mul(chosen, self.sub(on, off)))


def _joined(m: Monomial, n: Monomial) -> Monomial:
    if not m:
        return n
    if not n:
        return m
    both = sorted((*m, *n), key=lambda a: a.number)
    return tuple([a for k, a in enumerate(both) if not (a.bit and k and both[k - 1] is a)])


def _numbers(c: Coefficient) -> Rows | np.uint64:
    return np.uint64(c & (1 << 64) - 1) if isinstance(c, int) else c


def _plus(c: Coefficient, d: Coefficient) -> Coefficient:
    if isinstance(c, int) and isinstance(d, int):
        return c + d
    total: Rows = np.add(_numbers(c), _numbers(d), dtype=np.uint64)
    return total


def _times(c: Coefficient, d: Coefficient) -> Rows:
    product: Rows = np.multiply(_numbers(c), _numbers(d), dtype=np.uint64)
    return product


def _divisible(c: Coefficient, k: int) -> bool:
    unit = (1 << k) - 1
    return not c & unit if isinstance(c, int) else not (c & np.uint64(unit)).any()


def _shifted_down(c: Coefficient, k: int) -> Coefficient:
    return c >> k if isinstance(c, int) else c >> np.uint64(k)
