"""Words as bit-vector formulas of Z3, for one thread that is itself a variable.

    v = BitVectors(space)
    v.word(x)             x of thread `v.thread` as a term of 32 or 64 bits
    v.facts()             what holds of the variables in the terms made so far: bounds of symbols, products, the thread

A row of coefficients becomes a sum over the bits of the thread's number where it is one (all swizzle-free rows), else a
tree of choices over these bits. What is not computed from words (sizes, blocks, loaded data), and functions that look
at other lanes or shift by an unknown amount, are variables of their own. So is a product of symbols, in 64 bits, with
the bounds the space knows: the formulas stay linear. Every variable allows at least the values that its word has, so
what Z3 finds impossible is impossible; what it finds possible need not be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.machine.symbolic.sums import Atom, Coefficient, Monomial, Rows, WordSum
from argus.machine.symbolic.words import Words


class BitVectors:
    """Terms are made once per word; `variables` are the atoms and products that stand for themselves."""

    def __init__(self, space: Words) -> None:
        import z3

        self.z3, self.space = z3, space
        self._count = max(1, (space.threads - 1).bit_length())
        self.thread = z3.BitVec("thread", self._count)
        self._bits = [z3.Extract(k, k, self.thread) == 1 for k in range(self._count)]
        self.variables: dict[Atom | Monomial, Any] = {}
        self._bounds: list[Any] = [z3.ULE(self.thread, space.threads - 1)]
        self._words: dict[WordSum, Any] = {}
        self._atoms: dict[Atom, Any] = {}

    def facts(self) -> list[Any]:
        """Conditions on the variables made so far."""
        return list(self._bounds)

    # -- words --------------------------------------------------------------------------------------------------------

    def word(self, x: WordSum) -> Any:
        known = self._words.get(x)
        if known is None:
            z3 = self.z3
            parts = [self._term(mono, c, x.width) for mono, c in x.terms.items()]
            known = parts[0] if parts else z3.BitVecVal(0, x.width)
            for part in parts[1:]:
                known = known + part
            self._words[x] = known
        return known

    def _term(self, mono: Monomial, c: Coefficient, width: int) -> Any:
        z3 = self.z3
        factor = z3.BitVecVal(c, width) if isinstance(c, int) else self._row(c, width)
        bits = [self._atom(a) == 1 for a in mono if a.bit]
        numbers = tuple([a for a in mono if not a.bit])
        if len(numbers) == 1:
            factor = factor * self._sized(self._atom(numbers[0]), width)
        elif numbers:
            factor = factor * self._sized(self._product(numbers), width)
        return z3.If(z3.And(*bits), factor, z3.BitVecVal(0, width)) if bits else factor

    def _sized(self, term: Any, width: int) -> Any:
        """A number without sign in another width."""
        z3, have = self.z3, term.size()
        if have == width:
            return term
        return z3.ZeroExt(width - have, term) if have < width else z3.Extract(width - 1, 0, term)

    def _row(self, row: Rows, width: int) -> Any:
        """One number per thread, as a function of the thread's bits."""
        z3 = self.z3
        threads = self.space.thread
        known = row[np.minimum(np.arange(1 << self._count), len(row) - 1)]
        mask = np.uint64((1 << width) - 1)
        steps = [(int(known[1 << k]) - int(known[0])) & int(mask) for k in range(self._count)]
        linear = np.full(len(row), known[0], np.uint64)
        for k, step in enumerate(steps):
            linear = linear + (threads >> np.uint64(k) & np.uint64(1)) * np.uint64(step)
        if not np.array_equal(linear & mask, row & mask):
            return self._tree(known & mask, width)
        total = z3.BitVecVal(int(known[0]), width)
        for bit, step in zip(self._bits, steps, strict=True):
            if step:
                total = total + z3.If(bit, z3.BitVecVal(step, width), z3.BitVecVal(0, width))
        return total

    def _tree(self, values: Rows, width: int) -> Any:
        if (values == values[0]).all():
            return self.z3.BitVecVal(int(values[0]), width)
        bit = (len(values) - 1).bit_length() - 1
        low, high = values[: 1 << bit], values[1 << bit :]
        if np.array_equal(low, high):
            return self._tree(low, width)
        return self.z3.If(self._bits[bit], self._tree(high, width), self._tree(low, width))

    # -- variables ----------------------------------------------------------------------------------------------------

    def _free(self, key: Atom | Monomial, name: str, width: int, lo: int, hi: int) -> Any:
        z3 = self.z3
        known = self.variables.get(key)
        if known is None:
            known = self.variables[key] = z3.BitVec(f"{name}#{len(self.variables)}", width)
            if lo:
                self._bounds.append(z3.UGE(known, lo))
            if hi < (1 << width) - 1:
                self._bounds.append(z3.ULE(known, hi))
        return known

    def _product(self, mono: Monomial) -> Any:
        """A product of symbols modulo 2**64, bounded where it cannot wrap."""
        least, most = self.space.product_bounds(mono)
        inside = most < 1 << 64
        return self._free(mono, "product", 64, least if inside else 0, most if inside else (1 << 64) - 1)

    def _atom(self, a: Atom) -> Any:
        known = self._atoms.get(a)
        if known is None:
            made = self._computed(a)
            known = self._free(a, a.op, a.width, a.lo, a.hi) if made is None else self._sized(made, a.width)
            self._atoms[a] = known
        return known

    def _computed(self, a: Atom) -> Any:
        """The value of the function that the atom is, or None: a variable stands for it."""
        z3 = self.z3
        words = [arg for arg in a.args if isinstance(arg, WordSum)]
        if not words:
            return None
        x = words[0]
        match a.op:
            case "field":
                start, count = a.args[1:]
                assert isinstance(start, int)
                assert isinstance(count, int)
                return z3.Extract(start + count - 1, start, self.word(x))
            case "and":
                return self.word(x) & self.word(words[1])
            case "ashr" if words[1].constant is not None and words[1].constant < x.width:
                return self.word(x) >> words[1].constant
            case "udiv" if words[1].constant:
                return z3.UDiv(self.word(x), self.word(words[1]))
            case "zext":
                return z3.ZeroExt(32, self.word(x))
            case "sext":
                return z3.SignExt(32, self.word(x))
            case "low_half":
                return z3.Extract(31, 0, self.word(x))
            case "high_half":
                return z3.Extract(63, 32, self.word(x))
            case "eq":
                return self._truth(self.word(x) == 0)
            case "ult":
                return self._truth(z3.ULT(self.word(x), self.word(words[1])))
            case "slt":
                return self._truth(self.word(x) < self.word(words[1]))
            case "negative":
                return self._truth(self.word(x) < 0)
            case _:
                return None

    def _truth(self, condition: Any) -> Any:
        return self.z3.If(condition, self.z3.BitVecVal(1, 1), self.z3.BitVecVal(0, 1))
