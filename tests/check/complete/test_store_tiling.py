"""Tilings by digits: what is accepted covers every element exactly once, by brute force over small sizes."""

from __future__ import annotations

import itertools
import random
from types import SimpleNamespace
from typing import Any, cast

from argus.check.rules.store_tiling import tiled
from argus.check.solve.prover import Prover
from argus.check.walk import KernelWalk
from argus.layout import expr as E
from argus.layout.expr import Expr

N = E.var("N", 1, 2**20)
SIZES = (1, 2, 3, 5, 8, 9, 16, 17, 31)


def covers_once(start: Expr, width: int, counts: dict[Expr, Expr], extent: Expr) -> bool:
    """Every element below the extent is in exactly one box, whatever N is."""
    for n in SIZES:
        total = int(E.evaluate(extent, {"N": n}))
        hits = [0] * total
        for env in _values(counts, {"N": n}):
            at = int(E.evaluate(start, env))
            for i in range(max(at, 0), min(at + width, total)):
                hits[i] += 1
        if any(hit != 1 for hit in hits):
            return False
    return True


def _values(counts: dict[Expr, Expr], env: dict[str, int]) -> Any:
    if not counts:
        yield env
        return
    (v, count), *rest = counts.items()
    for value in range(max(0, int(E.evaluate(count, env)))):
        yield from _values(dict(rest), {**env, v.name: value})


def accepted(start: Expr, width: int, counts: dict[Expr, Expr], extent: Expr) -> bool:
    walk = cast(KernelWalk, SimpleNamespace(prover=Prover(())))
    return tiled(walk, ("n",), [extent], counts, [start], [width]) is None


def one(dice: random.Random) -> tuple[Expr, int, dict[Expr, Expr], Expr]:
    """A start made of two or three counters; about a third of them are right."""
    width, inner = dice.choice((1, 2, 4)), dice.choice((2, 3, 4))
    tiles = (N + (width - 1)) // width
    b, j, k = E.var("block_x", 0, 2**20), E.var("j", 0, 2**20), E.var("k", 0, 2**20)
    off = dice.choice((0, 0, 0, 1))
    shape = dice.randrange(6)
    if shape == 0:  # blocks, then turns
        counts = {b: E.const(inner + off), j: (tiles - b + (inner - 1)) // inner}
        return width * (b + inner * j), width, counts, N
    if shape == 1:  # turns in a row
        counts = {b: (tiles + (inner - 1)) // inner, j: E.const(inner - off)}
        return width * (inner * b + j), width, counts, N
    if shape == 2:  # chunks of a symbolic length
        per = (tiles + (inner - 1)) // inner
        last = E.minimum(per * b + per, tiles - off) if dice.random() < 0.7 else per * b + per
        counts = {b: E.const(inner), j: E.maximum(0, last - per * b)}
        return width * (per * b + j), width, counts, N
    if shape == 3:  # downwards
        counts = {b: E.const(1), j: tiles - off}
        return width * (tiles - 1 - j), width, counts, N
    if shape == 4:  # three digits
        counts = {b: (tiles + 5) // 6, j: E.const(3), k: E.const(2 + off)}
        return width * (6 * b + 2 * j + k), width, counts, N
    counts = {b: E.const(inner), j: (tiles + (inner - 1 - off)) // inner}
    return width * (b + dice.choice((inner, inner, inner + 1)) * j), width, counts, N


def test_what_is_accepted_covers_every_element_once() -> None:
    dice, right, taken = random.Random(7), 0, 0
    for _ in range(250):
        start, width, counts, extent = one(dice)
        good, proved = (
            covers_once(E.as_expr(start), width, counts, extent),
            accepted(E.as_expr(start), width, counts, extent),
        )
        assert good or not proved, (start, width, counts)
        right, taken = right + good, taken + proved
    assert taken > 0.8 * right > 40


def test_an_empty_loop_is_no_proof() -> None:
    """Where a block has no turns its boxes must lie outside: with one block more than turns skip, they do not."""
    b, j = E.var("block_x", 0, 2**20), E.var("j", 0, 2**20)
    short = {b: E.const(8), j: E.maximum(0, (N - b - 1 + 7) // 8)}
    assert not accepted(E.as_expr(b + 8 * j), 1, short, N)
    whole = {b: E.const(8), j: E.maximum(0, (N - b + 7) // 8)}
    assert accepted(E.as_expr(b + 8 * j), 1, whole, N)
    assert all(
        covers_once(E.as_expr(b + 8 * j), 1, counts, N) is wanted for counts, wanted in ((short, False), (whole, True))
    )


def test_a_digit_that_leaves_out_values_inside_is_no_proof() -> None:
    b, j = E.var("block_x", 0, 2**20), E.var("j", 0, 2**20)
    per = (N + 7) // 8
    for stop, wanted in ((E.minimum(per * b + per, N), True), (E.minimum(per * b + per, N - 1), False)):
        counts = {b: E.const(8), j: E.maximum(0, stop - per * b)}
        assert accepted(E.as_expr(per * b + j), 1, counts, N) is wanted
        assert covers_once(E.as_expr(per * b + j), 1, counts, N) is wanted


def test_two_counters_of_one_weight_are_no_digits() -> None:
    b, j = E.var("block_x", 0, 2**20), E.var("j", 0, 2**20)
    for x, y in itertools.product((1, 2), repeat=2):
        counts = {b: E.const(2), j: N}
        assert not (
            accepted(E.as_expr(x * b + y * j), 1, counts, N) and not covers_once(E.as_expr(x * b + y * j), 1, counts, N)
        )
