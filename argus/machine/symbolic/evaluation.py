"""The value of a word for given symbols, one number per thread.

    values = Evaluation(space, {"size(K)": 64, ...})
    values.rows(word)          numpy array of uint64

Used to find a concrete difference, and in tests as a second opinion on every identity of the normal form: it computes
functions of words as the scalar machine does and knows none of the identities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from argus.machine.symbolic.sums import Atom, Rows, WordSum
from argus.machine.symbolic.words import Words

M32 = np.uint64(0xFFFFFFFF)


class Unassigned(Exception):
    """A symbol has no value."""


class Evaluation:
    """`symbols` gives atoms without word arguments a number, or a row of numbers."""

    def __init__(self, space: Words, symbols: Mapping[Atom, int | Rows]) -> None:
        self.space, self.symbols = space, symbols
        self._done: dict[WordSum, Rows] = {}
        self._atoms: dict[Atom, Rows] = {}

    def rows(self, x: WordSum) -> Rows:
        known = self._done.get(x)
        if known is None:
            total = np.zeros(self.space.threads, np.uint64)
            for mono, c in x.terms.items():
                part = np.full(self.space.threads, c, np.uint64) if isinstance(c, int) else c.copy()
                for a in mono:
                    part = part * self.atom(a)
                total = total + part
            known = self._done[x] = total & M32 if x.width == 32 else total
        return known

    def atom(self, a: Atom) -> Rows:
        known = self._atoms.get(a)
        if known is None:
            known = self._atoms[a] = self._computed(a)
        return known

    def _computed(self, a: Atom) -> Rows:
        if a in self.symbols:
            value = self.symbols[a]
            return np.full(self.space.threads, value, np.uint64) if isinstance(value, int) else value
        words = [self.rows(arg) for arg in a.args if isinstance(arg, WordSum)]
        function = _FUNCTIONS.get(a.op)
        if function is None or not words:
            raise Unassigned(repr(a))
        made = function(a, words)
        return made & M32 if a.width == 32 else made


def _signed(row: Rows, width: int) -> NDArray[np.int64]:
    view = row.view(np.int64)
    return np.where(view >> 31 == 1, view - (1 << 32), view) if width == 32 else view


def _width(a: Atom) -> int:
    first = a.args[0]
    return first.width if isinstance(first, WordSum) else a.width


def _field(a: Atom, w: list[Rows]) -> Rows:
    _, start, count = a.args
    assert isinstance(start, int)
    assert isinstance(count, int)
    return w[0] >> np.uint64(start) & np.uint64((1 << count) - 1)


def _divided(a: Atom, w: list[Rows]) -> Rows:
    return np.where(w[1] == 0, np.uint64(0xFFFFFFFF), w[0] // np.maximum(w[1], np.uint64(1)))


def _some(a: Atom, w: list[Rows]) -> Rows:
    return np.repeat(w[0].reshape(-1, 64).any(axis=1), 64).astype(np.uint64)


def _first(a: Atom, w: list[Rows]) -> Rows:
    return np.repeat(w[0].reshape(-1, 64)[:, 0], 64)


def _ballot(a: Atom, w: list[Rows]) -> Rows:
    half = a.args[1]
    assert isinstance(half, int)
    lanes = w[0].reshape(-1, 64)[:, 32 * half : 32 * half + 32]
    return np.repeat((lanes << np.arange(32, dtype=np.uint64)).sum(axis=1, dtype=np.uint64), 64)


_FUNCTIONS: dict[str, Callable[[Atom, list[Rows]], Rows]] = {
    "field": _field,
    "and": lambda a, w: w[0] & w[1],
    "mul": lambda a, w: w[0] * w[1],
    "shl": lambda a, w: w[0] << w[1],
    "lshr": lambda a, w: w[0] >> w[1],
    "ashr": lambda a, w: (_signed(w[0], _width(a)) >> w[1].view(np.int64)).view(np.uint64),
    "udiv": _divided,
    "zext": lambda a, w: w[0],
    "sext": lambda a, w: _signed(w[0], 32).view(np.uint64),
    "low_half": lambda a, w: w[0] & M32,
    "high_half": lambda a, w: w[0] >> np.uint64(32),
    "eq": lambda a, w: (w[0] == 0).astype(np.uint64),
    "ult": lambda a, w: (w[0] < w[1]).astype(np.uint64),
    "slt": lambda a, w: (_signed(w[0], _width(a)) < _signed(w[1], _width(a))).astype(np.uint64),
    "negative": lambda a, w: (w[0] >> np.uint64(63)).astype(np.uint64),
    "some": _some,
    "first_lane": _first,
    "ballot": _ballot,
}
