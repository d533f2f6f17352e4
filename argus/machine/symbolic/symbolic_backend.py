"""`IntBuilder` over formulas: what an instruction computes, for all threads and all values of the symbols.

    b = SymbolicBuilder(Words(threads=256))
    VALU["v_lshl_or_b32"].fn(b, x, b.const32(4), y)      the word x << 4 | y

Integer operations give words in normal form. Float operations are not followed: they raise `NotFollowed`, and whoever
slices the code makes the instruction's result a symbol of its own.
"""

from __future__ import annotations

from typing import Any

from argus.machine.symbolic.sums import Sum
from argus.machine.symbolic.words import Words


class NotFollowed(Exception):
    """An operation whose result is not expressed by a formula."""


class SymbolicBuilder:
    """See `argus.machine.semantics.builder` for what each operation means. A mask is a word that is 0 or 1."""

    def __init__(self, space: Words) -> None:
        self.space = space

    def __getattr__(self, name: str) -> Any:
        raise NotFollowed(name)

    def const32(self, value: int) -> Sum:
        return self.space.const(value)

    def const64(self, value: int) -> Sum:
        return self.space.const(value, 64)

    def const_mask(self, value: bool) -> Sum:
        return self.space.one if value else self.space.zero

    def add32(self, a: Sum, b: Sum) -> Sum:
        return self.space.add(a, b)

    def sub32(self, a: Sum, b: Sum) -> Sum:
        return self.space.sub(a, b)

    def mul32(self, a: Sum, b: Sum) -> Sum:
        return self.space.mul(a, b)

    add64, sub64, mul64 = add32, sub32, mul32

    def and_(self, a: Sum, b: Sum) -> Sum:
        return self.space.and_(a, b)

    def or_(self, a: Sum, b: Sum) -> Sum:
        return self.space.or_(a, b)

    def xor(self, a: Sum, b: Sum) -> Sum:
        return self.space.xor(a, b)

    def not32(self, a: Sum) -> Sum:
        return self.space.not_(a)

    not64 = not32

    def shl32(self, a: Sum, n: Sum) -> Sum:
        return self.space.shl(a, n)

    def lshr32(self, a: Sum, n: Sum) -> Sum:
        return self.space.lshr(a, n)

    def ashr32(self, a: Sum, n: Sum) -> Sum:
        return self.space.ashr(a, n)

    shl64, lshr64, ashr64 = shl32, lshr32, ashr32

    def zext(self, a: Sum) -> Sum:
        return self.space.zext(a)

    def sext(self, a: Sum) -> Sum:
        return self.space.sext(a)

    def trunc(self, a: Sum) -> Sum:
        return self.space.trunc(a)

    def high(self, a: Sum) -> Sum:
        return self.space.high(a)

    def pair(self, lo: Sum, hi: Sum) -> Sum:
        return self.space.pair(lo, hi)

    def bitreverse32(self, a: Sum) -> Sum:
        found = self.space.reversed(a)
        if found is None:
            raise NotFollowed("bitreverse32")
        return found

    def eq(self, a: Sum, b: Sum) -> Sum:
        return self.space.eq(a, b)

    def ne(self, a: Sum, b: Sum) -> Sum:
        return self.space.lnot(self.space.eq(a, b))

    def ult(self, a: Sum, b: Sum) -> Sum:
        return self.space.ult(a, b)

    def ule(self, a: Sum, b: Sum) -> Sum:
        return self.space.lnot(self.space.ult(b, a))

    def slt32(self, a: Sum, b: Sum) -> Sum:
        return self.space.slt(a, b)

    def sle32(self, a: Sum, b: Sum) -> Sum:
        return self.space.lnot(self.space.slt(b, a))

    slt64, sle64 = slt32, sle32

    def select(self, mask: Sum, a: Sum, b: Sum) -> Sum:
        return self.space.select(mask, a, b)

    def mask_and(self, p: Sum, q: Sum) -> Sum:
        return self.space.mul(p, q)

    def mask_or(self, p: Sum, q: Sum) -> Sum:
        return self.space.sub(self.space.add(p, q), self.space.mul(p, q))

    def mask_xor(self, p: Sum, q: Sum) -> Sum:
        both = self.space.mul(p, q)
        return self.space.sub(self.space.add(p, q), self.space.scale(both, 2))

    def mask_not(self, p: Sum) -> Sum:
        return self.space.lnot(p)
