"""Rule `in_bounds`: what begins inside an axis ends inside, if both are multiples of the access."""

from __future__ import annotations

import numpy as np

from argus.check.rules.in_bounds import whole_steps
from argus.layout import expr as E
from argus.layout.expr import var

X, SIZE = var("x", 0, 1000), var("W", 1, 1000)


def test_claims_hold_for_every_number() -> None:
    """Brute force over starts a*x + b, accesses of several widths, and what is known of the axis."""
    dice, claimed = np.random.default_rng(6), 0
    for _ in range(3000):
        a, b, last, divides = (int(dice.integers(low, high)) for low, high in ((1, 9), (-8, 9), (0, 8), (1, 9)))
        start = X * a + b
        facts = (E.land(start.lt(SIZE), start.ge(0)), (SIZE % divides).eq(0))
        if not whole_steps(facts, start, last, SIZE, (start + last).lt(SIZE)):
            continue
        claimed += 1
        for x, size in np.ndindex(20, 60):
            known = size % divides == 0 and 0 <= a * x + b < size
            assert not known or a * x + b + last < size, (a, b, last, divides, x, size)
    assert claimed > 10


def test_nothing_is_claimed_without_its_facts() -> None:
    start, even = X * 4, (SIZE % 4).eq(0)
    limit = (start + 3).lt(SIZE)
    assert whole_steps((start.lt(SIZE), even), start, 3, SIZE, limit)
    assert not whole_steps((even,), start, 3, SIZE, limit)
    assert not whole_steps((start.lt(SIZE),), start, 3, SIZE, limit)
    assert not whole_steps((start.lt(SIZE), even), start + 1, 3, SIZE, (start + 4).lt(SIZE))
    assert not whole_steps((start.lt(SIZE), even), start, 3, SIZE, start.ge(0))
