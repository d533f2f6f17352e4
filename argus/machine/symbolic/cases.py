"""Words under a condition: what remains of a word where one of the choices in it is known.

    assumed(space, p * (a - b) + b, p, 1)          a
    assumed(space, slt(x - p * n, 1), p, 0)        slt(x, 1), which bounds may decide

A condition also stands inside other functions; these are made again from what their words are in this case. A case is
one thread's: functions that look at other lanes (`some`, `ballot`, `first_lane`) are left as they are, because the
condition may differ there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from argus.machine.symbolic.sums import Arg, Atom, Rows, WordSum
from argus.machine.symbolic.words import Words


def _number(arg: Arg) -> int:
    assert isinstance(arg, int)
    return arg


_AGAIN: dict[str, Callable[[Words, Atom, list[WordSum]], WordSum]] = {
    "slt": lambda s, a, w: s.slt(w[0], w[1]),
    "ult": lambda s, a, w: s.ult(w[0], w[1]),
    "eq": lambda s, a, w: s.eq(w[0], s.const(0, w[0].width)),
    "negative": lambda s, a, w: s.negative(w[0]),
    "field": lambda s, a, w: s.field(w[0], _number(a.args[1]), _number(a.args[2])),
    "and": lambda s, a, w: s.and_(w[0], w[1]),
    "zext": lambda s, a, w: s.zext(w[0]),
    "sext": lambda s, a, w: s.sext(w[0]),
    "high_half": lambda s, a, w: s.high(w[0]),
    "udiv": lambda s, a, w: s.udiv(w[0], w[1]),
}


def assumed(space: Words, x: WordSum, bit: Atom, value: int) -> WordSum:
    """x where the condition `bit` has this value."""
    return _assumed(space, x, bit, value, {})


def _assumed(space: Words, x: WordSum, bit: Atom, value: int, known: dict[WordSum, WordSum]) -> WordSum:
    """`known`: words of this case already; a word stands in many functions."""
    found = known.get(x)
    if found is None:
        found = known[x] = _made_again(space, x, bit, value, known)
    return found


def _made_again(space: Words, x: WordSum, bit: Atom, value: int, known: dict[WordSum, WordSum]) -> WordSum:
    x = space.with_bit(x, bit, value)
    again = {a: made for a in x.atoms if (made := _again(space, a, bit, value, known)) is not None}
    if not again:
        return x
    total = space.const(0, x.width)
    for mono, c in x.terms.items():
        part = space.made(x.width, {tuple([a for a in mono if a not in again]): c})
        for a in mono:
            if a in again:
                part = space.mul(part, space.resized(again[a], x.width))
        total = space.add(total, part)
    return total


def _again(space: Words, a: Atom, bit: Atom, value: int, known: dict[WordSum, WordSum]) -> WordSum | None:
    """The function that the atom is, of its words in this case; None where nothing changes."""
    function = _AGAIN.get(a.op)
    words = [arg for arg in a.args if isinstance(arg, WordSum)]
    if function is None or not words:
        return None
    cases = [_assumed(space, word, bit, value, known) for word in words]
    return None if all(case is word for case, word in zip(cases, words, strict=True)) else function(space, a, cases)


def never_together(space: Words, words: tuple[WordSum, ...], most: int) -> bool:
    """In every case of the choices, for every thread, one of the words has no term; at most `most` cases."""
    return _never(space, words, [most])


def _never(space: Words, words: tuple[WordSum, ...], left: list[int]) -> bool:
    possible = np.ones(space.threads, bool)
    for word in words:
        possible &= _threads(space, word)
    if not possible.any():
        return True
    bit = next((a for word in words for mono in word.terms for a in mono if a.bit), None)
    left[0] -= 1
    if bit is None or left[0] < 0:
        return False
    return all(_never(space, tuple(assumed(space, word, bit, value) for word in words), left) for value in (0, 1))


def _threads(space: Words, word: WordSum) -> Rows:
    """Threads for which the word has a term."""
    found = np.zeros(space.threads, bool)
    for c in word.terms.values():
        found |= np.asarray(c != 0)
    return found
