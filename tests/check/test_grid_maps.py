"""Grid maps of symbolic size: every order of the language is taken apart; what is taken apart is a bijection, by
brute force.
"""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from argus.check import check
from argus.check.engine import decide
from argus.check.rules.covers import Covers
from argus.check.rules.grid_maps import plain
from argus.check.solve.prover import Prover
from argus.ir.kernel import BLOCK_X
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.lang.grids import mapping
from argus.lang.values import NamedPolicy
from argus.layout import expr as E
from argus.layout.expr import Expr

H, W, P = E.var("H", 1, 1 << 20), E.var("W", 1, 1 << 20), E.var("P", 1, 1 << 20)
ORDERS = [
    NamedPolicy("xcd", {"count": count, "rows": rows}) for count, rows in product((1, 2, 7, 8), (1, 3, 4, 8))
] + [NamedPolicy("grouped", {"rows": rows}) for rows in (1, 2, 8)]  # fmt: skip
SHAPES = [(H, W), (H, E.const(16)), (E.const(24), W), (P, H, W), (E.const(6), E.const(5)), ((H + 7) // 8, W)]


def bijective(total: Expr, tiles: tuple[Expr, ...], sizes: dict[str, int]) -> bool:
    """Do the blocks of a launch number all tiles of a box, each once?"""
    blocks = np.arange(int(E.evaluate(total, sizes)))
    at: dict[str, int | np.ndarray] = {**sizes, BLOCK_X.name: blocks}
    found = np.stack([np.broadcast_to(np.asarray(E.evaluate(t, at)), blocks.shape) for t in tiles], axis=1)
    box = int(np.prod(found.max(axis=0) + 1))
    return bool(found.min() >= 0 and box == len(blocks) and len(np.unique(found, axis=0)) == len(blocks))


def taken_apart(total: Expr, tiles: tuple[Expr, ...]) -> bool:
    """Plain variables, each once, and none left over."""
    done = plain(Prover(), {BLOCK_X: total}, tiles)
    if done is None:
        return False
    movers, plains = done
    used = [t for t in plains if t.op == "var"]
    return len(set(used)) == len(used) and all(v in used or n is E.const(1) for v, n in movers.items())


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: f"{order.kind}-{'-'.join(map(str, order.params.values()))}")
def test_every_order_of_the_language_is_taken_apart(order: NamedPolicy) -> None:
    for sizes in SHAPES:
        (total, _, _), tiles = mapping(list(sizes), order)
        assert taken_apart(total, tuple(tiles)), (sizes, order)
        assert bijective(total, tuple(tiles), {"H": 11, "W": 7, "P": 3})


def test_by_hand() -> None:
    total = H * W
    chiplets = BLOCK_X % 8 * (total // 8) + BLOCK_X // 8
    assert not taken_apart(total, (chiplets // W, chiplets % W))
    done = plain(Prover([(total % 8).eq(0)]), {BLOCK_X: total}, (chiplets // W, chiplets % W))
    assert done is not None
    first = BLOCK_X // (4 * W)
    here, inside = E.minimum(E.const(4), H - 4 * first), BLOCK_X % (4 * W)
    assert taken_apart(total, (4 * first + inside % here, inside // here))
    assert taken_apart(total, (H - 1 - BLOCK_X // W, BLOCK_X % W))
    assert not taken_apart(total, (BLOCK_X // H, BLOCK_X % W))
    assert not taken_apart(total, (H - 1 - BLOCK_X // W, BLOCK_X // W))


def test_sizes_that_may_be_negative_are_not_taken_apart() -> None:
    left, right = E.var("H", -9, 9), E.var("W", -9, 9)
    assert plain(Prover(), {BLOCK_X: left * right}, (BLOCK_X // right, BLOCK_X % right)) is None


def changed(tile: Expr, dice: random.Random) -> Expr:
    """One node of the expression replaced by a near one."""
    node = dice.choice(list(E.postorder(tile)))
    near: list[Expr] = [node + 1, node - 1, E.const(0)]
    if node.op == "floordiv":
        near += [node.args[0] % node.args[1]]
    if node.op == "mod":
        near += [node.args[0] // node.args[1], node.args[0]]
    if node.op == "min":
        near += list(node.args)
    if node in (H, W):
        near += [H, W, H + W]
    return tile.subst({node: dice.choice(near)})


@pytest.mark.parametrize("seed", range(6))
def test_changed_maps_are_taken_apart_only_where_they_are_bijections(seed: int) -> None:
    dice = random.Random(seed)
    accepted = 0
    for _ in range(120):
        (total, _, _), right = mapping([H, W], dice.choice(ORDERS))
        wrong = list(right)
        where = dice.randrange(2)
        try:
            wrong[where] = changed(wrong[where], dice)
        except E.ExprError:
            continue  # divided by zero
        if not taken_apart(total, tuple(wrong)):
            continue
        accepted += 1
        for h, w in ((1, 1), (3, 5), (8, 4), (9, 13), (17, 2)):
            assert bijective(total, tuple(wrong), {"H": h, "W": w}), (wrong, h, w)
    assert accepted  # some changes change nothing


GEMM = Path(__file__).parents[2] / "argus" / "kernels" / "gemm_pipelined.py"
COPY = """import argus as ag
from argus import f32

TILE = ag.Owner(lane=64, e=4, m="lane//8", n="lane%8*4 + e")


@ag.kernel(threads=64, requires="M % 8 == 0 and N % 32 == 0", example=dict(M=16, N=64), computes="y[m, n] = x[m, n]")
def copy(x: ag.In["M N", f32], y: ag.Out["M N", f32]):
    rows, columns = M // 8, N // 32
    number = ag.grid(rows * columns)
    first = number // (4 * columns)
    here = ag.min(4, rows - 4 * first)
    bm, bn = 4 * first + number % (4 * columns) % here, number % (4 * columns) // here
    y[8 * bm, 32 * bn].store(x[8 * bm, 32 * bn].load(TILE, width=16), width=16)
"""


def test_blocks_of_256_by_256_by_chiplet_are_proved(tmp_path: Path) -> None:
    file = tmp_path / "gemm.py"
    text = GEMM.read_text()
    assert "ag.grid(M // BM, N // BN)" in text
    file.write_text(text.replace("ag.grid(M // BM, N // BN)", "ag.grid(M // BM, N // BN, order=ag.xcd(8))"))
    report = check(scheduled(read(file)))
    assert report.status == "proved", report.render()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", {"proved"}),
        ("ag.min(4, rows", "ag.min(4, columns", {"refuted"}),
        ("ag.min(4, rows - 4 * first)", "4", {"refuted"}),
        ("bn = 4 * first", "bn = first", {"refuted", "unknown"}),  # needs more than four rows of blocks
        ("// (4 * columns)\n", "// (4 * rows)\n", {"refuted", "unknown"}),
    ],
)
def test_groups_written_by_hand(tmp_path: Path, old: str, new: str, expected: set[str]) -> None:
    file = tmp_path / "copy.py"
    file.write_text(COPY.replace(old, new))
    (verdict,) = decide(read(file), [Covers()]).verdicts
    assert verdict.status in expected, verdict
