"""Sums over tiles of 256 numbers that go through a ring of LDS slots; a wave reads what another one stored."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(10)), why="which variant")

LINE = ag.Layout(i=(256, 4))
MINE = ag.Owner(t=256, i="t")
OTHER = ag.Owner(t=256, i="(t + 64) % 256")
DEPTH = 1 if CASE == 2 else 2 if CASE in (1, 4) else 3
EARLY = CASE >= 3


@ag.kernel(threads=256, computes="y[m, i] = sum(x[m, t, i], t)", example=dict(M=2, T=5))
def sums(x: ag.In["M T i=256", f32], y: ag.Out["M i=256", f32]):
    m = ag.grid(M)
    ring = ag.ring(DEPTH, b=(LINE, f32))
    total = ag.zeros(OTHER, f32)

    def fetch(t):
        return x[m, t].load(MINE, width=4, guard=t < T)

    if EARLY:
        ring[0].b.store(fetch(0), width=4)
        if CASE != 6:
            ring[1].b.store(fetch(1), width=4)
    for t in ag.range(T - 1 if CASE == 7 else T):
        if EARLY:
            if CASE != 8:
                ag.barrier()
            ring[t + 2].b.store(fetch(t + 2), width=4)
            total = total + ring[t + 1 if CASE == 5 else t].b.load(OTHER, width=4)
            if CASE == 9:
                ag.barrier()
        else:
            ring[t].b.store(fetch(t), width=4)
            ag.barrier()
            total = total + ring[t].b.load(OTHER, width=4)
    y[m].store(total, width=4)
