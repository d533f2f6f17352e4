"""Bank conflicts, vector width and lines against counts made by hand."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from argus.layout import Layout, LayoutError, Owner, access, gf2
from argus.layout import expr as E

CONSECUTIVE = {size: [list(range(i, i + size)) for i in range(0, 64, size)] for size in (8, 16, 32)}
READ_128 = [
    [*range(4 * q + 32 * half, 4 * q + 32 * half + 4), *range(4 * (q ^ 5) + 32 * half, 4 * (q ^ 5) + 32 * half + 4)]
    for q in range(4)
    for half in (0, 1)
]


def ways_by_hand(addresses: list[int], width: int, phases: list[list[int]]) -> int:
    worst = 1
    for lanes in phases:
        for bank in range(32):
            words = {w for lane in lanes for w in range(addresses[lane] // 4, (addresses[lane] + width - 1) // 4 + 1)}
            worst = max(worst, sum(1 for w in words if w % 32 == bank))
    return worst


@pytest.mark.parametrize(
    ("width", "phases"),
    [
        (1, CONSECUTIVE[32]),
        (2, CONSECUTIVE[32]),
        (4, CONSECUTIVE[32]),
        (8, CONSECUTIVE[16]),
        (12, READ_128),
        (16, READ_128),
        (16, CONSECUTIVE[8]),
    ],
)
def test_conflicts_equal_the_count_by_hand(width: int, phases: list[list[int]]) -> None:
    rng = random.Random(width)
    for _ in range(60):
        stride, jump = rng.choice((1, 2, 4, 8, 16, 20, 64, 128, 132, 256)), rng.choice((0, 4, 16, 64))
        addresses = [(lane * stride + (lane // 8) * jump) // width * width for lane in range(64)]
        found = access.bank_conflict(addresses, width, phases)
        assert found.ways == ways_by_hand(addresses, width, phases)
        if found.ways > 1:
            assert set(found.lanes) <= set(phases[found.phase])
            assert len(found.lanes) == found.ways
            for lane in found.lanes:
                first, last = addresses[lane] // 4, (addresses[lane] + width - 1) // 4
                assert any(w % 32 == found.bank for w in range(first, last + 1))


def test_rank_formula_equals_enumeration() -> None:
    rng = random.Random(3)
    for _ in range(200):
        columns = [rng.randrange(0, 256) * 16 for _ in range(6)]
        addresses = [gf2.apply(columns, lane) for lane in range(64)]
        assert access.bank_ways_linear(columns, 16, [1, 2, 20]) == ways_by_hand(addresses, 16, READ_128)
        assert access.bank_ways_linear(columns, 16, [1, 2, 4]) == ways_by_hand(addresses, 16, CONSECUTIVE[8])


@pytest.mark.parametrize(
    ("swizzle", "reads", "writes"),
    [(None, 8, 1), ("row[0:3]", 1, 1), ("row[1:4]", 2, 1)],
)
def test_known_swizzles_of_a_gemm_tile(swizzle: str | None, reads: int, writes: int) -> None:
    tile = Layout(row=(256, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e"))
    tile = tile.xor(chunk=swizzle) if swizzle else tile
    fragment = Owner(t=64, e=8, row="t%32", k="t//32*8 + e")
    copy = Owner(p=8, t=256, e=8, row="p*32 + t//8", k="t%8*8 + e")
    assert tile.bank_conflict(fragment, 16, READ_128).ways == reads
    assert tile.bank_conflict(copy, 16, CONSECUTIVE[8]).ways == writes
    assert tile.widest(copy) == 16
    assert tile.lines(copy, 16) == 8


def test_worst_access_is_found_wherever_it_is() -> None:
    t, i = E.var("t", 0, 127), E.var("i", 0, 2)
    address = E.select(i.eq(1), t % 64 * 128, t % 64 * 16) + t // 64 * 8192
    accesses, where = access.wave_accesses(address, {"i": 3, "t": 128}, "t")
    at, conflict = access.worst_bank_conflict(accesses, 16, CONSECUTIVE[8])
    assert conflict.ways == 8
    assert where[at]["i"] == 1
    assert "8-way bank conflict: lanes 0, 1" in str(conflict)
    with pytest.raises(LayoutError, match="multiple of 64"):
        access.wave_accesses(address, {"i": 3, "t": 96}, "t")


def test_widest_access() -> None:
    base = np.arange(64)[:, None] * 64
    for width, step in itertools.product((16, 8, 4, 2), (2,)):
        runs = np.arange(8) * step + np.arange(8) // (width // 2) * 64
        assert access.widest(base + runs, 2) == width
    assert access.widest(base + np.arange(8) * 2 + 8, 2) == 8
    assert access.widest(base + np.arange(8) * 2, 2, alignment=4) == 4
    assert access.widest(np.arange(64)[:, None] * 12 + np.arange(3) * 4, 4) == 12
    assert access.widest(base + np.arange(8) * 4, 2) == 2


def test_lines_and_coalescing() -> None:
    assert access.lines(np.arange(64) * 4, 4) == 2
    assert access.lines(np.arange(64) * 4, 4, 64) == 4
    assert access.lines(np.arange(64) * 4096, 16) == 64
    assert access.lines([126], 4) == 2
    assert access.coalescing(np.arange(64) * 4, 4) == 1.0
    assert access.coalescing(np.arange(64) * 256, 16) == 16 / 128
    assert access.coalescing(np.zeros(64, dtype=np.int64), 4) == 4 / 128
