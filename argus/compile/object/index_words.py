"""Index expressions of the kernel IR as words: the other side of every comparison.

    words = IndexWords(space, {LANE: lane, ...})
    words.word(16*lane + K*block_y*2)         the 32-bit word the machine must have there
    words.wide(K*block_y*2)                   the same in 64 bits, where no sum or product wraps

Emission goes through `argus.layout.emit` as in the compiler, so a division is the same operation on both sides. What is
compared, divided or chosen from fits 32 bits: the rule `fits` has shown it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from argus.ir.semantics import AMOUNTS
from argus.layout import emit
from argus.layout.expr import Expr
from argus.machine.symbolic.sums import WordSum
from argus.machine.symbolic.words import Words


class NoWord(Exception):
    """An expression over something that has no word; the message names it."""


class IndexWords:
    """`argus.layout.emit.Builder` whose values are words. A condition is a word that is 0 or 1."""

    def __init__(self, space: Words, variables: Mapping[str, WordSum]) -> None:
        self.space = space
        self.variables = variables
        self._cache: dict[Expr, WordSum] = {}
        self._wide: dict[Expr, WordSum] = {}

    def word(self, e: Expr) -> WordSum:
        return emit.emit(e, self, self._cache)

    def wide(self, e: Expr) -> WordSum:
        known = self._wide.get(e)
        if known is None:
            if e.op == "const":
                known = self.space.const(e.value, 64)
            elif e.op in ("add", "mul"):
                known = self.wide(e.args[0])
                for arg in e.args[1:]:
                    step = self.space.add if e.op == "add" else self.space.mul
                    known = step(known, self.wide(arg))
            else:
                known = self.space.sext(self.word(e))
            self._wide[e] = known
        return known

    def fits(self, e: Expr) -> bool:
        """No part of the expression leaves 32 bits, by bounds alone: the word is then the expression over whole
        numbers. For conditions that nobody computes on the machine, such as what a kernel requires."""
        for arg in e.args:
            low, high = self.space.bounds(self.word(arg))
            most = 1 << (32 if e.op in ("floordiv", "mod") and low >= 0 else 31)
            if low < -(1 << 31) or high >= most or not self.fits(arg):
                return False
        return True

    def const(self, n: int) -> WordSum:
        return self.space.const(n)

    def truth(self, value: bool) -> WordSum:
        return self.space.one if value else self.space.zero

    def var(self, e: Expr) -> WordSum:
        found = self.variables.get(e.name)
        if found is None:
            raise NoWord(f"`{e.name}` is not followed through the object")
        return found

    def apply(self, e: Expr, args: Sequence[WordSum]) -> WordSum:
        raise NoWord(f"`{e}` has no value on the machine")

    def add(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.add(a, b)

    def sub(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.sub(a, b)

    def mul(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.mul(a, b)

    def shl(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.shl(a, self._amount(b))

    def shr(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.ashr(a, self._amount(b))

    def _amount(self, b: WordSum) -> WordSum:
        """The instruction takes five bits; a constant amount, of a product or quotient, has no more."""
        return b if b.constant is not None else self.space.and_(b, self.space.const(AMOUNTS[1]))

    def udiv(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.udiv(a, b)

    def urem(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.sub(a, self.space.mul(b, self.space.udiv(a, b)))

    def floordiv(self, a: WordSum, b: WordSum) -> WordSum:
        if self.space.bounds(a)[0] >= 0 and self.space.bounds(b)[0] >= 0:
            return self.udiv(a, b)
        raise NoWord("a division of numbers with sign is not followed")

    def floormod(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.sub(a, self.space.mul(b, self.floordiv(a, b)))

    def xor(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.xor(a, b)

    def bit_and(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.and_(a, b)

    def bit_or(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.or_(a, b)

    def compare(self, op: str, a: WordSum, b: WordSum) -> WordSum:
        match op:
            case "lt":
                return self.space.slt(a, b)
            case "le":
                return self.space.lnot(self.space.slt(b, a))
            case "eq":
                return self.space.eq(a, b)
            case _:
                return self.space.lnot(self.space.eq(a, b))

    def lnot(self, a: WordSum) -> WordSum:
        return self.space.lnot(a)

    def land(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.mul(a, b)

    def lor(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.sub(self.space.add(a, b), self.space.mul(a, b))

    def select(self, c: WordSum, a: WordSum, b: WordSum) -> WordSum:
        return self.space.select(c, a, b)

    def minimum(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.minimum(a, b)

    def maximum(self, a: WordSum, b: WordSum) -> WordSum:
        return self.space.maximum(a, b)

    def as_number(self, truth: WordSum) -> WordSum:
        return truth
