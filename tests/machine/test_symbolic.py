"""Words over symbols: every scalar and vector integer instruction, and the identities of the normal form, against
numbers.

The oracle computes each instruction with the table's other builders (`ScalarBuilder`) for concrete values, thread by
thread; it knows nothing of polynomials, atoms or bounds.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from argus.machine.semantics.salu import SALU
from argus.machine.semantics.scalar_backend import ScalarBuilder
from argus.machine.semantics.valu import VALU
from argus.machine.symbolic.evaluation import Evaluation
from argus.machine.symbolic.sums import Atom, WordSum
from argus.machine.symbolic.symbolic_backend import NotFollowed, SymbolicBuilder
from argus.machine.symbolic.words import Words

THREADS = 128
INTEGER = {"u32", "u64", "i64", "u16", "mask", "scc", "k16", "k16u"}
TABLE = {
    name: op
    for name, op in {**SALU, **VALU}.items()
    if op.shape == "plain"
    and "cvt" not in name
    and set(op.args) <= INTEGER
    and set(op.results) <= {"u32", "u64", "mask", "scc", "u16"}
}


NOT_FOLLOWED = frozenset(
    name for name in TABLE if any(part in name for part in ("flbit", "ffb", "bcnt", "ff0", "ff1", "brev", "bfrev"))
)
"""Counting and searching bits stays a symbol."""


class Material:
    """Random words with the values of their symbols."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.space = Words(THREADS)
        self.values: dict[Atom, int] = {}
        self.leaves = [self._symbol(f"s{k}", top) for k, top in enumerate((3, 63, 1 << 12, (1 << 31) - 1, M32, M32))]

    def _symbol(self, name: str, top: int) -> WordSum:
        atom = self.space.atom("size", name, hi=top, uniform=True)
        self.values[atom] = self.random.choice((0, top, self.random.randint(0, top), self.random.randint(0, top)))
        return self.space.word(atom)

    def word(self) -> WordSum:
        space, pick = self.space, self.random
        kind = pick.randrange(6)
        if kind == 0:
            return space.const(pick.choice((0, 1, 2, 31, 64, 0xFFFF, 1 << 31, M32, pick.getrandbits(32))))
        if kind == 1:
            lane = space.rows(space.thread & np.uint64(63))
            return space.scale(lane, 1 << pick.randrange(8))
        if kind == 2:
            return pick.choice(self.leaves)
        if kind == 3:
            return space.scale(pick.choice(self.leaves), pick.choice((2, 4, 16, 3, -1)))
        if kind == 4:
            return space.add(self.word(), self.word())
        chosen = (
            space.slt(pick.choice(self.leaves), self.word()) if pick.random() < 0.5 else space.rows(space.thread % 2)
        )
        return space.select(chosen, self.word(), self.word())

    def argument(self, word: str) -> WordSum:
        space = self.space
        if word in ("mask", "scc"):
            return space.slt(self.word(), self.word())
        if word in ("u64", "i64"):
            return space.pair(self.word(), self.word())
        if word in ("k16", "k16u"):
            return space.const(self.random.randrange(1 << 15))
        return space.field(self.word(), 0, 16) if word == "u16" else self.word()

    def rows(self, x: WordSum) -> list[int]:
        return [int(v) for v in Evaluation(self.space, self.values).rows(x)]


M32 = 0xFFFFFFFF


@pytest.mark.parametrize("name", sorted(TABLE))
def test_instruction_over_symbols_is_the_instruction_over_numbers(name: str) -> None:
    op = TABLE[name]
    for seed in range(3):
        material = Material(seed)
        args = [material.argument(word) for word in op.args]
        try:
            made = op.fn(SymbolicBuilder(material.space), *args)
        except NotFollowed:
            assert name in NOT_FOLLOWED
            return
        results = made if isinstance(made, tuple) else (made,)
        rows = [material.rows(arg) for arg in args]
        have = [material.rows(result) for result in results]
        for thread in range(0, THREADS, 7):
            point = [
                bool(row[thread]) if word in ("mask", "scc") else row[thread]
                for word, row in zip(op.args, rows, strict=True)
            ]
            want = op.fn(ScalarBuilder(), *point)
            for got, number in zip(have, want if isinstance(want, tuple) else (want,), strict=True):
                assert got[thread] == int(number), (name, seed, thread, point)


@pytest.mark.parametrize("seed", range(40))
def test_chains_of_operations(seed: int) -> None:
    """Long mixed expressions, so that normal forms meet each other."""
    material = Material(seed)
    b, s = SymbolicBuilder(material.space), ScalarBuilder()
    pick = material.random
    steps = ("add32", "sub32", "mul32", "and_", "or_", "xor", "shl32", "lshr32", "ashr32", "select", "wide", "carry")
    symbolic = [material.word() for _ in range(4)]
    concrete = [material.rows(word) for word in symbolic]
    for _ in range(12):
        step = pick.choice(steps)
        i, j, k = (pick.randrange(len(symbolic)) for _ in range(3))
        x, y, z = symbolic[i], symbolic[j], symbolic[k]
        if step in ("shl32", "lshr32", "ashr32"):
            amount = pick.randrange(32)
            symbolic.append(getattr(b, step)(x, b.const32(amount)))
            concrete.append([getattr(s, step)(a, amount) for a in concrete[i]])
        elif step == "select":
            symbolic.append(b.select(b.slt32(x, y), y, z))
            concrete.append(
                [c if s.slt32(a, c) else d for a, c, d in zip(concrete[i], concrete[j], concrete[k], strict=True)]
            )
        elif step == "wide":
            symbolic.append(b.high(b.add64(b.mul64(b.zext(x), b.sext(y)), b.pair(z, x))))
            concrete.append(
                [
                    s.high(s.add64(s.mul64(s.zext(a), s.sext(c)), s.pair(d, a)))
                    for a, c, d in zip(concrete[i], concrete[j], concrete[k], strict=True)
                ]
            )
        elif step == "carry":
            low, high = SALU["s_add_u32"].fn(b, x, y)
            upper, _ = SALU["s_addc_u32"].fn(b, z, x, high)
            whole = b.pair(low, upper)
            symbolic.append(b.high(b.lshr64(whole, b.const32(7))))
            concrete.append(
                [
                    (d + a + (a + c >> 32) & M32) >> 7
                    for a, c, d in zip(concrete[i], concrete[j], concrete[k], strict=True)
                ]
            )
        else:
            symbolic.append(getattr(b, step)(x, y))
            concrete.append([getattr(s, step)(a, c) for a, c in zip(concrete[i], concrete[j], strict=True)])
        assert material.rows(symbolic[-1]) == concrete[-1], (seed, step)
        low, high = material.space.unsigned(symbolic[-1])
        assert all(low <= v <= high for v in concrete[-1]), (seed, step)


def test_equal_words_are_one_object() -> None:
    space = Words(64)
    lane = space.rows(space.thread)
    n = space.word(space.atom("size", "N", hi=1 << 20, uniform=True))
    b = SymbolicBuilder(space)
    swizzled = b.shl32(b.xor(lane, b.lshr32(lane, b.const32(3))), b.const32(4))
    again = b.xor(b.shl32(lane, b.const32(4)), b.and_(b.shl32(lane, b.const32(1)), b.const32(0x3F0)))
    assert swizzled is again
    assert b.add32(b.mul32(n, lane), lane) is b.mul32(lane, b.add32(n, b.const32(1)))
    assert b.slt32(b.add32(n, lane), b.const32(7)) is b.slt32(n, b.sub32(b.const32(7), lane))
    assert b.or_(b.shl32(n, b.const32(6)), lane) is b.add32(b.shl32(n, b.const32(6)), lane)


def test_a_64_bit_sum_by_halves_is_the_sum() -> None:
    space = Words(64)
    b = SymbolicBuilder(space)
    pointer = space.word(space.atom("pointer", "x", width=64, uniform=True))
    n, m = (space.word(space.atom("size", name, hi=(1 << 31) - 1, uniform=True)) for name in "NM")
    product = b.mul64(b.zext(n), b.zext(m))
    low, carry = SALU["s_add_u32"].fn(b, b.trunc(pointer), b.trunc(product))
    high, _ = SALU["s_addc_u32"].fn(b, b.high(pointer), b.high(product), carry)
    assert b.pair(low, high) is b.add64(pointer, product)
    low, borrow = SALU["s_sub_u32"].fn(b, n, b.trunc(product))
    high, _ = SALU["s_subb_u32"].fn(b, b.const32(0), b.high(product), borrow)
    assert b.pair(low, high) is b.sub64(b.zext(n), product)
