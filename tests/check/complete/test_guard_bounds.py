"""Limits that a guard gives to blocks and loop variables: `r + b < N` ends, and claims nothing that is not so."""

from __future__ import annotations

import itertools
import random

import pytest

from argus.compile.facts import Facts
from argus.ir import ops
from argus.lang import read
from argus.layout import expr as E

KERNEL = """
import argus as ag
from argus import f32
ONE = ag.Owner(t=64, i="t*0")
@ag.kernel(threads=64)
def guarded(x: ag.In["N", f32], y: ag.Out["N", f32]):
    b = ag.grid(8)
    for r in ag.range(N):
        y[r].store(x[{place}].load(ONE, width=4, guard={guard}), width=4, guard=b == 0)
"""


def claims(place: str, guard: str) -> tuple[bool, ops.Load]:
    """Whether the compiler takes the access for one that stays inside wherever its guard holds."""
    kernel = read(KERNEL.format(place=place, guard=guard))
    (loop,) = [op for op in kernel.body if isinstance(op, ops.For)]
    (load,) = [op for op in loop.body if isinstance(op, ops.Load)]
    facts = Facts(kernel)
    facts.enter(loop.var, loop.hi)
    return facts.in_bounds(load.access), load


def stays_inside(load: ops.Load) -> bool:
    """By enumeration of sizes, blocks and turns."""
    guard = load.access.guard
    assert guard is not None
    for n, b in itertools.product((1, 2, 7, 9, 30), range(8)):
        for r in range(n):
            env = {"N": n, "block_x": b, "block_y": 0, "block_z": 0, "r": r, "lane": 0, "wave": 0}
            if E.evaluate(guard, env) and not 0 <= E.evaluate(load.access.coords[0], env) < n:
                return False
    return True


@pytest.mark.parametrize("guard", ["r + b < N", "b + r < N", "r + b <= N - 1", "r + 2 * b < N"])
def test_a_guard_over_a_loop_and_a_block_ends(guard: str) -> None:
    claimed, load = claims("r + b", guard)
    assert not claimed or stays_inside(load)


def test_a_block_in_a_falling_term_is_not_raised() -> None:
    claimed, load = claims("r + 7", "r + 2 * b < N")
    assert not stays_inside(load)
    assert not claimed


def test_what_is_claimed_is_so() -> None:
    dice = random.Random(3)
    claimed = 0
    for _ in range(120):
        p, q, s = (dice.choice((0, 1, 1, 2)) for _ in range(3))
        place = f"{p} * r + {q} * b + {dice.choice((0, 0, 1, 3))}"
        guard = f"r + {s} * b + {dice.choice((0, 0, 1, 3, 8))} {dice.choice(('<', '<='))} N"
        inside, load = claims(place, guard)
        claimed += inside
        assert not inside or stays_inside(load), (place, guard)
    assert claimed > 3
