"""A ring whose last slot is read after the loop: which one that is depends on the number of turns."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(16)), why="which variant")
SLOTS = 3 if CASE in (1, 9) else 4 if CASE == 2 else 2
PART = ag.Owner(t=128, i="t")
BACK = ag.Owner(t=128, i="127 - t")  # the other wave reads
TILE = ag.Layout(i=(128, 4))


@ag.kernel(threads=128, requires="K >= 1 and K <= 64", computes="Y[k, i] = X[k, i]", example=dict(K=4))
def last_slot(X: ag.In["K n=128", f32], Y: ag.Out["K n=128", f32]):
    ag.grid(1)
    ring = ag.ring(SLOTS, a=(TILE, f32))
    ring[1 if CASE == 13 else 0].a.store(X[0].load(PART, width=4), width=4)
    ag.barrier()
    for k in ag.range(K - 1):
        v = X[k + 1].load(PART, width=4)
        if CASE == 11:
            ring[k].a.store(v, width=4)
        else:
            ring[k + 1].a.store(v, width=4)
        Y[k].store(ring[k].a.load(BACK, width=4), width=4)
        if CASE != 10:
            ag.barrier()
    if CASE == 3:
        Y[K - 1].store(ring[K + SLOTS - 1].a.load(BACK, width=4), width=4)
    elif CASE == 4:
        Y[K - 1].store(ring[K].a.load(BACK, width=4), width=4)
    elif CASE == 5:
        Y[K - 1].store(ring[3 * K - 3 if SLOTS == 2 else K - 1].a.load(BACK, width=4), width=4)
    elif CASE == 6:
        Y[K - 1].store(ring[0].a.load(BACK, width=4), width=4)
    elif CASE == 7:
        Y[K - 1].store(ring[1].a.load(BACK, width=4), width=4)
    elif CASE == 8:
        Y[K - 1].store(ring[2 * K - 1].a.load(BACK, width=4), width=4)
    elif CASE == 9:
        Y[K - 1].store(ring[K + 1].a.load(BACK, width=4), width=4)
    elif CASE == 12:
        ring[K - 1].a.store(X[0].load(PART, width=4), width=4)
        ag.barrier()
        Y[K - 1].store(ring[K - 1].a.load(BACK, width=4), width=4)
    elif CASE == 14:
        Y[K - 1].store(ring[K // 2].a.load(BACK, width=4), width=4)
    elif CASE == 15:
        got = ring[K - 1].a.load(BACK, width=4)
        Y[K - 1].store(got + ring[K].a.load(BACK, width=4), width=4)
    else:
        Y[K - 1].store(ring[K - 1].a.load(BACK, width=4), width=4)
