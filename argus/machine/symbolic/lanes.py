"""Words across the lanes of a wave: what the wave agrees on, one lane of a register, and lane masks as numbers.

    lane(with_lane(v, 3, s), 3)  is  s          a scalar kept in lane 3 of a vector register and read back
    ballot(p, 0), ballot(p, 1)                  the lanes where p holds, as two 32-bit numbers
    mask_of(ballot(p, 0), ballot(p, 1))  is  p

A coefficient is a row over the threads, so a write to one lane is a product with a row that is 1 there, and what the
other lanes held drops out when that lane is read.

What it cannot do: a lane chosen by a number that is not known, and a lane of a word over symbols that differ from lane
to lane.
"""

from __future__ import annotations

import numpy as np

from argus.machine.symbolic.bit_fields import only
from argus.machine.symbolic.comparisons import Comparisons
from argus.machine.symbolic.sums import Coefficient, Monomial, Rows, WordSum

WAVE = 64


class LaneWords(Comparisons):
    """`Comparisons` with what waves do."""

    def some(self, p: WordSum) -> WordSum:
        """1 where some lane of the wave has p."""
        if p.uniform:
            return p
        if p.plain:
            rows = self.row(p).reshape(-1, WAVE).any(axis=1)
            return self.rows(np.repeat(rows, WAVE).astype(np.uint64))
        return self.word(self.atom("some", p, bit=True, uniform=True))

    def first_lane(self, x: WordSum) -> WordSum:
        return x if x.uniform else self.word(self.atom("first_lane", x, width=x.width, uniform=True))

    def lane(self, x: WordSum, lane: WordSum) -> WordSum | None:
        """The value of x in one lane, for all lanes of its wave; None where symbols differ between the lanes."""
        k = lane.constant
        if k is None or self.threads % WAVE:
            return None
        terms: dict[Monomial, Coefficient] = {}
        for mono, c in x.terms.items():
            picked = c if isinstance(c, int) else np.repeat(c.reshape(-1, WAVE)[:, k % WAVE], WAVE)
            if not np.any(picked):
                continue
            if not all(a.uniform for a in mono):
                return None
            terms[mono] = picked
        return self.made(x.width, terms)

    def with_lane(self, x: WordSum, lane: WordSum, value: WordSum) -> WordSum | None:
        """x with `value`, on which the wave agrees, in one lane; None where the lane is not known."""
        k = lane.constant
        if k is None or not value.uniform:
            return None
        return self.choice(self.rows((self.thread % np.uint64(WAVE) == k % WAVE).astype(np.uint64)), value, x)

    def ballot(self, p: WordSum, half: int) -> WordSum:
        """Half of the lane mask p as a number: bit l is p of lane l + 32 * half."""
        if p.plain and not self.threads % WAVE:
            lanes = self.row(p).reshape(-1, WAVE)[:, 32 * half : 32 * half + 32]
            words: Rows = (lanes << np.arange(32, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
            return self.rows(np.repeat(words, WAVE))
        return self.word(self.atom("ballot", p, half, uniform=True))

    def mask_of(self, low: WordSum, high: WordSum) -> WordSum | None:
        """The lane mask whose halves these numbers are; None where they are not known to be halves of one mask."""
        lanes = self.thread % np.uint64(WAVE)
        if low.plain and high.plain:
            return self.rows((self.row(low) | self.row(high) << np.uint64(32)) >> lanes & np.uint64(1))
        first, second = only(low), only(high)
        if first is None or second is None or first.op != "ballot" or second.op != "ballot":
            return None
        mask = first.args[0]
        assert isinstance(mask, WordSum)
        return mask if mask is second.args[0] and (first.args[1], second.args[1]) == (0, 1) else None
