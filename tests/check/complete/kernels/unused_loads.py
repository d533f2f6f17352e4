"""Loads of LDS that nobody uses are not in the code and meet nothing; the wrong ones are used."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(8)), why="which variant")

TILE = ag.Layout(n=(128, 4))
HERE = ag.Owner(t=128, n="t")
THERE = ag.Owner(t=128, n="127 - t")
BESIDE = ag.Owner(t=128, n="t ^ 1")


@ag.kernel(threads=128, requires="N >= 1", computes="y[n] = x[n]", example=dict(N=256))
def unused_loads(x: ag.In["N", f32], y: ag.Out["N", f32]):
    first = 128 * ag.grid(ag.cdiv(N, 128))
    a = x[first].load(HERE, width=4)
    b = x[first].load(THERE, width=4)
    c = x[first].load(BESIDE, width=4)
    tile = ag.shared(TILE, f32)
    r = a
    if CASE == 0:  # right: the load of one arm, beside the store of the other, is forgotten
        tile.store(a, width=4)
        ag.barrier()
        if ag.lane() % 2 == 0:
            r = tile.load(HERE, width=4)
            r = a
        else:
            tile.store(c + 1, width=4)
    elif CASE == 1:  # right: no barrier before a load of other waves' data that nobody uses
        tile.store(b, width=4)
        r = tile.load(HERE, width=4)
        r = a
    elif CASE == 2:  # right: bytes never written, read for nothing
        r = tile.load(HERE, width=4)
        r = a
    elif CASE == 3:  # right: only the loop carries it, and nothing reads it afterwards
        tile.store(b, width=4)
        kept = a
        for i in ag.range(3):
            kept = kept + tile.load(HERE, width=4)
    elif CASE == 4:  # wrong: the same arm, used
        tile.store(a, width=4)
        ag.barrier()
        if ag.lane() % 2 == 0:
            r = tile.load(HERE, width=4)
        else:
            tile.store(c + 1, width=4)
    elif CASE == 5:  # wrong: used, no barrier
        tile.store(b, width=4)
        r = tile.load(HERE, width=4)
    elif CASE == 6:  # wrong: bytes never written are used
        r = tile.load(HERE, width=4)
    else:  # wrong: what the loop carries is used
        tile.store(b, width=4)
        for i in ag.range(3):
            r = tile.load(HERE, width=4)
    y[first].store(r, width=4)
