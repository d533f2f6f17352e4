"""What stands behind the normal form, against brute force: words under a condition, words that are never different
from 0 together, words as bit-vectors of Z3, single lanes and lane masks.

The oracle is `Evaluation`: numbers for every thread and every value of the symbols, with none of the identities.
"""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
import z3

from argus.compile.object.solver import AccessSolver
from argus.machine.symbolic.bit_vectors import BitVectors
from argus.machine.symbolic.cases import assumed, never_together
from argus.machine.symbolic.evaluation import Evaluation
from argus.machine.symbolic.sums import Atom, WordSum
from argus.machine.symbolic.symbolic_backend import SymbolicBuilder
from argus.machine.symbolic.words import Words

M32 = 0xFFFFFFFF


class Chain:
    """Random words over symbols with small ranges, or with full ones."""

    def __init__(self, seed: int, tops: tuple[int, ...], threads: int = 128) -> None:
        self.pick = random.Random(seed)
        self.space = Words(threads)
        self.symbols = [self.space.atom("size", f"s{k}", hi=top, uniform=True) for k, top in enumerate(tops)]
        self.b = SymbolicBuilder(self.space)
        lane = self.space.rows(self.space.thread & np.uint64(63))
        self.words = [*map(self.space.word, self.symbols), lane, self.space.scale(lane, 4)]
        self.bits = [self.space.rows(self.space.thread % np.uint64(2))]
        for _ in range(10):
            self._grow()

    def _grow(self) -> None:
        b, pick = self.b, self.pick
        x, y, p = pick.choice(self.words), pick.choice(self.words), pick.choice(self.bits)
        k = b.const32(pick.choice((1, 2, 3, 5, 8)))
        c = b.const32(pick.choice((0, 1, 2, 7, -1, -3, 64)))
        match pick.randrange(12):
            case 0:
                self.words.append(b.add32(b.shl32(x, k), c))
            case 1:
                self.words.append(b.sub32(x, y))
            case 2:
                self.words.append(b.ashr32(b.add32(x, c), k))
            case 3:
                self.words.append(b.lshr32(x, k))
            case 4:
                self.words.append(b.and_(x, b.const32(pick.choice((3, 0xF0, 0xFFFF)))))
            case 5 | 6:
                self.words.append(b.select(p, x, y))
            case 7:
                self.words.append(b.high(b.select(b.mask_not(p), b.pair(x, y), b.sext(y))))
            case 8:
                self.bits.append(b.slt32(b.add32(b.shl32(x, k), c), y))
            case 9:
                self.bits.append(b.ult(x, b.add32(y, c)))
            case 10:
                self.bits.append(b.slt64(b.sub64(b.zext(x), b.shl64(b.zext(y), k)), b.const64(3)))
            case _:
                self.bits.append(b.mask_and(b.eq(x, y), p))

    def evaluations(self) -> list[Evaluation]:
        """All values of the symbols."""
        return [
            Evaluation(self.space, dict(zip(self.symbols, values, strict=True)))
            for values in product(*(range(a.hi + 1) for a in self.symbols))
        ]

    def sampled(self, count: int) -> list[Evaluation]:
        """Random values of the symbols, the ends among them."""
        return [
            Evaluation(self.space, {a: self.pick.choice((0, a.hi, self.pick.randint(0, a.hi))) for a in self.symbols})
            for _ in range(count)
        ]


@pytest.mark.parametrize("seed", range(60))
def test_a_word_under_a_condition_is_the_word_where_it_holds(seed: int) -> None:
    chain = Chain(seed, (3, 1 << 12, M32))
    bits = sorted({a for w in (*chain.words, *chain.bits) for a in w.atoms if a.bit}, key=lambda a: a.number)
    for values in chain.sampled(4):
        for bit, word in product(bits, (*chain.words, *chain.bits)):
            for value in (0, 1):
                here = values.atom(bit) == value
                under = values.rows(assumed(chain.space, word, bit, value))
                assert np.array_equal(under[here], values.rows(word)[here]), (seed, bit, word)


def all_nonzero(chain: Chain, words: tuple[WordSum, ...]) -> bool:
    """Some values of the symbols and some thread have all words different from 0."""
    for values in chain.evaluations():
        here = np.ones(chain.space.threads, bool)
        for word in words:
            here &= values.rows(word) != 0
        if here.any():
            return True
    return False


def questions(chain: Chain) -> list[tuple[WordSum, ...]]:
    """Pairs and triples of words and conditions, some of them contradictory."""
    found: list[tuple[WordSum, ...]] = []
    for _ in range(8):
        p, q = (chain.pick.choice(chain.bits) for _ in range(2))
        x, y = (chain.pick.choice(chain.words) for _ in range(2))
        found.append((p, chain.space.lnot(q)))
        found.append((p, chain.space.sub(chain.b.select(p, x, y), x)))
        found.append((p, chain.b.slt32(x, y), chain.b.slt32(y, x)))
    return [words for words in found if all(w.terms for w in words)]


@pytest.mark.parametrize("seed", range(40))
def test_what_is_never_nonzero_together_is_not_by_brute_force(seed: int) -> None:
    chain = Chain(seed, (3, 7))
    for words in questions(chain):
        if never_together(chain.space, words, 300):
            assert not all_nonzero(chain, words), (seed, words)


def test_the_solver_is_right_and_decides_what_cases_do_not() -> None:
    by_solver = 0
    for seed in range(12):
        chain = Chain(seed, (3, 7), 64)
        solver = AccessSolver(chain.space, lambda: ())
        for words in questions(chain):
            solver.ways.clear()
            if solver.never(*words):
                by_solver += "solver" in solver.ways
                assert not all_nonzero(chain, words), (seed, words)
    assert by_solver > 3


def test_nothing_is_shown_from_facts_that_exclude_each_other() -> None:
    space = Words(64)
    n = space.word(space.atom("size", "N", hi=100, uniform=True))
    solver = AccessSolver(space, lambda: (space.slt(n, space.const(5)), space.slt(space.const(7), n)))
    assert not solver.never(space.add(n, space.one))


def test_facts_of_the_launch_are_used() -> None:
    space = Words(64)
    n, m = (space.word(space.atom("size", name, hi=1 << 20, uniform=True)) for name in "NM")
    wrong = space.slt(space.scale(n, 2), space.scale(m, 2))
    assert not AccessSolver(space, lambda: ()).never(wrong)
    assert AccessSolver(space, lambda: (space.slt(m, n),)).never(wrong)


@pytest.mark.parametrize("seed", range(30))
def test_words_as_bit_vectors_are_the_words(seed: int) -> None:
    """The formula with numbers for its variables, for some threads; products of symbols are variables too."""
    chain = Chain(seed, (3, 1 << 12, M32, M32))
    x, y = chain.words[2], chain.words[3]
    swizzled = chain.b.xor(chain.words[4], chain.b.lshr32(chain.words[4], chain.b.const32(3)))
    words = [*chain.words[4:], *chain.bits, chain.b.mul64(chain.b.zext(x), chain.b.zext(y)), swizzled]
    vectors = BitVectors(chain.space)
    terms = [vectors.word(word) for word in words]
    for values in chain.sampled(2):
        for thread in chain.pick.sample(range(chain.space.threads), 3):
            known = [(vectors.thread, z3.BitVecVal(thread, vectors.thread.size()))]
            for key, variable in vectors.variables.items():
                number = 1
                for a in (key,) if isinstance(key, Atom) else key:
                    number *= int(values.atom(a)[thread])
                known.append((variable, z3.BitVecVal(number, variable.size())))
            assert all(z3.is_true(z3.simplify(z3.substitute(f, known))) for f in vectors.facts())
            for word, term in zip(words, terms, strict=True):
                have = z3.simplify(z3.substitute(term, known)).as_long()
                assert have == int(values.rows(word)[thread]), (seed, thread, word)


@pytest.mark.parametrize("seed", range(20))
def test_single_lanes_and_masks(seed: int) -> None:
    chain = Chain(seed, (3, 1 << 12, M32))
    space, pick = chain.space, chain.pick
    register = pick.choice(chain.words)
    kept = {pick.randrange(64): pick.choice(chain.words[:3]) for _ in range(5)}
    held = register
    for lane, value in kept.items():
        made = space.with_lane(held, space.const(lane), value)
        assert made is not None
        held = made
    for lane, value in kept.items():
        assert space.lane(held, space.const(lane)) is value
    values = chain.sampled(1)[0]
    rows = values.rows(held).reshape(-1, 64)
    for lane in range(64):
        read = space.lane(held, space.const(lane))
        if read is not None:
            assert np.array_equal(values.rows(read).reshape(-1, 64)[:, 0], rows[:, lane])
        want = values.rows(kept.get(lane, register)).reshape(-1, 64)[:, lane]
        assert np.array_equal(rows[:, lane], want)
    mask = pick.choice(chain.bits)
    low, high = space.ballot(mask, 0), space.ballot(mask, 1)
    assert space.mask_of(low, high) is mask
    assert space.mask_of(high, low) is not mask or low is high
    lanes = values.rows(mask).reshape(-1, 64)
    for half, word in enumerate((low, high)):
        for wave, number in enumerate(values.rows(word).reshape(-1, 64)[:, 0]):
            assert int(number) == sum(int(bit) << k for k, bit in enumerate(lanes[wave, 32 * half : 32 * half + 32]))
