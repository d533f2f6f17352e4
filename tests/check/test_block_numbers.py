"""Digits of block numbers: what elimination shows with them is true of every block of every small grid, by brute force;
every order of the language is shown to stay in its grid, without a solver.
"""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from argus.check import check
from argus.check.engine import decide
from argus.check.rules.fits import Fits
from argus.check.rules.in_bounds import InBounds
from argus.check.rules.store_turns import numbered_turns
from argus.check.solve import prover as provers
from argus.check.solve.block_numbers import digits_named
from argus.check.solve.linear_elimination import contradict
from argus.check.solve.prover import Prover
from argus.ir.kernel import BLOCK_X
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.lang.grids import mapping
from argus.layout import expr as E
from argus.layout.expr import Expr
from tests.check.test_grid_maps import ORDERS, SHAPES, H, P, W, changed

MOST = (1 << 24) - 1
SMALL = [(h, w) for h in range(1, 10) for w in range(1, 7)]
LISTING = Path(__file__).parents[1] / "lang" / "programs" / "moe.py"


def everywhere(total: Expr, goal: Expr) -> bool:
    """The goal is true for every block of every small grid."""
    for h, w in SMALL:
        sizes = {"H": h, "W": w, "P": 2}
        blocks = np.arange(int(E.evaluate(total, sizes)))
        with np.errstate(all="ignore"):
            if not np.all(E.evaluate(goal, {**sizes, BLOCK_X.name: blocks})):
                return False
    return True


def shown(total: Expr, goal: Expr) -> bool:
    """By digits and elimination alone."""
    named = digits_named((E.lnot(goal), BLOCK_X.lt(total), total.le(MOST)))
    return named is not None and any(contradict(named, split) is True for split in (False, True))


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: f"{order.kind}-{'-'.join(map(str, order.params.values()))}")
def test_every_order_stays_in_its_grid(order: object, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object) -> None:
        raise AssertionError("the solver was asked")

    monkeypatch.setattr(provers, "_first", asked)
    for sizes in SHAPES:
        if all(size.op == "const" for size in sizes):
            continue  # left to the solver
        (total, _, _), tiles = mapping(list(sizes), order)  # type: ignore[arg-type]
        prover = Prover((BLOCK_X.lt(total), total.le(MOST)))
        for tile, extent in zip(tiles, sizes, strict=True):
            assert prover.holds((), tile.ge(0)) is True, (sizes, tile)
            assert prover.holds((), tile.lt(extent)) is True, (sizes, tile)
            assert prover.holds((), (tile * 128 + 127).lt(extent * 128)) is True, (sizes, tile)


GOALS = [
    lambda tile, extent: tile.ge(0),
    lambda tile, extent: tile.lt(extent),
    lambda tile, extent: (tile + 1).lt(extent),
    lambda tile, extent: (tile * 4 + 3).lt(extent * 4),
    lambda tile, extent: (tile * 4 + 4).lt(extent * 4),
    lambda tile, extent: tile.le(H),
    lambda tile, extent: tile.ge(1),
]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_shown_is_true(seed: int) -> None:
    dice = random.Random(seed)
    true = false = 0
    for _ in range(60):
        (total, _, _), right = mapping([H, W], dice.choice(ORDERS))
        where = dice.randrange(2)
        try:
            tile = right[where] if dice.random() < 0.2 else changed(right[where], dice)
            goals = [make(tile, extent) for make, extent in product(GOALS, (H, W))]
        except E.ExprError:
            continue  # divided by zero
        for goal in goals:
            if shown(total, goal):
                assert everywhere(total, goal), (tile, goal)
                true += 1
            else:
                false += 1
    assert true > 0
    assert false > 0


@pytest.mark.parametrize("seed", range(4))
def test_names_exclude_no_block(seed: int) -> None:
    """Every block of a small grid is a model of the facts with names: shown by asking for a contradiction with it."""
    dice = random.Random(100 + seed)
    for _ in range(12):
        (total, _, _), tiles = mapping([H, W], dice.choice(ORDERS))
        h, w = dice.choice(SMALL)
        block = dice.randrange(h * w)
        at = {"H": h, "W": w, BLOCK_X.name: block}
        exact = [tile.eq(int(E.evaluate(tile, at))) for tile in tiles]
        sizes = [H.eq(h), W.eq(w), BLOCK_X.eq(block)]
        named = digits_named((*exact, BLOCK_X.lt(total), total.le(MOST), *sizes))
        assert named is None or (contradict(named) is not True and contradict(named, split=True) is not True)


def test_by_hand() -> None:
    total = H * W
    assert shown(total, (BLOCK_X // W).lt(H))
    assert shown(total, (BLOCK_X % W).lt(W))
    assert shown(total, (BLOCK_X - BLOCK_X // (4 * W) * (4 * W)).le(MOST))
    assert not shown(total, (BLOCK_X // W).lt(W))
    assert not shown(total, (BLOCK_X // H).lt(H))
    assert not shown(total, (BLOCK_X % H).lt(W))
    assert not shown(total, (BLOCK_X // W).lt(H - 1))
    assert not shown(total + 1, (BLOCK_X // W).lt(H))
    chiplets = BLOCK_X % 8 * (total // 8) + BLOCK_X // 8
    assert not shown(total, (chiplets + E.minimum(BLOCK_X % 8, total % 4)).lt(total))
    assert not shown(total, (chiplets + E.minimum(BLOCK_X % 4, total % 8)).lt(total - 1))
    assert shown(P * total, (BLOCK_X // total).lt(P))


def test_factors_that_may_be_negative_say_nothing() -> None:
    left, right = E.var("H", -9, 9), E.var("W", -9, 9)
    assert digits_named(((BLOCK_X // right).ge(left), BLOCK_X.lt(left * right))) is None


COPY = """import argus as ag
from argus import f32

TILE = ag.Owner(lane=64, e=4, m="lane//8", n="lane%8*4 + e")


@ag.kernel(threads=64, requires="M % 8 == 0 and N % 32 == 0", example=dict(M=16, N=64), computes="y[m, n] = x[m, n]")
def copy(x: ag.In["M N", f32], y: ag.Out["M N", f32]):
    bm, bn = ag.grid(M // 8, N // 32, order=ag.xcd(8, group=4))
    y[8 * bm, 32 * bn].store(x[8 * bm, 32 * bn].load(TILE, width=16), width=16)
"""


@pytest.mark.parametrize("order", ["ag.xcd(8, group=4)", "ag.xcd(8)", "ag.grouped(4)", "ag.grouped(8)"])
def test_a_copy_in_every_order_is_proved(order: str) -> None:
    report = check(scheduled(read(COPY.replace("ag.xcd(8, group=4)", order))))
    assert report.status == "proved", report.render()


@pytest.mark.parametrize("order", [pytest.param("ag.xcd(8, group=4)", marks=pytest.mark.full), "ag.grouped(8)"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("N // 32, order", "N // 32 + 1, order"),
        ("N // 32, order", "N // 16, order"),
        ("bm, bn = ", "bn, bm = "),
        ("y[8 * bm, 32 * bn]", "y[8 * bm, 32 * bn + 4]"),
        ("x[8 * bm, 32 * bn]", "x[8 * bm, 32 * bn + 4]"),
        ("y[8 * bm, 32 * bn]", "y[8 * bm, 32 * bm]"),
        ("x[8 * bm, 32 * bn]", "x[8 * bn, 32 * bm]"),
    ],
)
def test_tiles_that_leave_the_grid_are_not_proved(old: str, new: str, order: str) -> None:
    text = COPY.replace("ag.xcd(8, group=4)", order)
    assert old in text
    report = decide(read(text.replace(old, new)), [InBounds(), Fits()])
    assert report.status != "proved", report.render()


@pytest.mark.full
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("W[expert, bn * BN, kt", "W[expert, bm * BN, kt"),
        ("R // BM, N // BN, order", "R // BM, N // BN + 1, order"),
        ("bm, bn = ag.grid(R // BM, N // BN,", "bn, bm = ag.grid(R // BM, N // BN,"),
        ("W[expert, bn * BN,", "W[expert, bn * BN + 1,"),
        ("Y[mine, bn * BN + 64 * wn]", "Y[mine, bn * BN + 64 * wn + 64]"),
        ("Y[mine, bn * BN + 64 * wn]", "Y[mine, bm * BN + 64 * wn]"),
        ('0, T - 1, name="token"', '0, T, name="token"'),
    ],
)
def test_wrong_tiles_of_the_mixture_of_experts_are_not_proved(tmp_path: Path, old: str, new: str) -> None:
    text = LISTING.read_text()
    assert old in text
    file = tmp_path / "moe.py"
    file.write_text(text.replace(old, new))
    report = decide(read(file), [InBounds(), Fits()])
    assert report.status != "proved", report.render()


def test_turns_of_a_persistent_loop_are_numbered_only_where_all_come_once() -> None:
    block, turn, total = E.var("block_x", 0), E.var("t_turn_1", 0), E.var("T", 0, 1 << 20)
    found = set()
    for size, stride, more, weight in product((1, 3, 8), (1, 3, 7, 8, 9), (-1, 0, 1), (1, 3, 8)):
        counts = {block: E.const(size), turn: E.maximum(0, (total - block + more + (stride - 1)) // stride)}
        numbered = numbered_turns(counts, [block + turn * weight])
        if numbered is None:
            continue
        found.add((size, more))
        (number,) = numbered[0]
        for n in range(1, 30):
            often = [int(E.evaluate(counts[turn], {"T": n, "block_x": b})) for b in range(size)]
            taken = [b + weight * j for b in range(size) for j in range(often[b])]
            assert sorted(taken) == list(range(int(E.evaluate(numbered[0][number], {"T": n}))))
    assert {(3, 0), (8, 0)} <= found


def test_counters_that_others_depend_on_are_not_numbered() -> None:
    block, turn, inner = E.var("block_x", 0), E.var("t_turn_1", 0), E.var("k_turn_2", 0)
    counts = {block: E.const(8), turn: E.maximum(0, (H - block + 7) // 8)}
    assert numbered_turns(counts, [block + turn * 8]) is not None
    assert numbered_turns(counts | {inner: block + 1}, [block + turn * 8]) is None
    assert numbered_turns(counts | {inner: turn + 1}, [block + turn * 8]) is None
    assert numbered_turns(counts, [block + turn * 8, block]) is None
    assert numbered_turns(counts, [block + turn * 4]) is None
    assert numbered_turns({block: W, turn: counts[turn]}, [block + turn * 8]) is None
