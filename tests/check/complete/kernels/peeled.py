"""A store beside the loop: the last tile after it, the first before it; right ones first, then wrong ones."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(4)), why="which variant")

ONE = ag.Owner(t=256, n="t")


@ag.kernel(threads=256, requires="K >= 1 and K <= 4096", computes="y[k, n] = 2 * x[k, n]", example=dict(K=7))
def peeled(x: ag.In["K n=256", f32], y: ag.Out["K n=256", f32]):
    ag.grid(1)
    if CASE == 0:
        ahead = x[0].load(ONE, width=4)
        for k in ag.range(K - 1):
            here = ahead
            ahead = x[k + 1].load(ONE, width=4)
            y[k].store(here * 2.0, width=4)
        y[K - 1].store(ahead * 2.0, width=4)
    elif CASE == 1:
        y[0].store(x[0].load(ONE, width=4) * 2.0, width=4)
        for k in ag.range(1, K):
            y[k].store(x[k].load(ONE, width=4) * 2.0, width=4)
    elif CASE == 2:
        for k in ag.range(K - 1):
            y[k].store(x[k].load(ONE, width=4) * 2.0, width=4)
        y[0].store(x[0].load(ONE, width=4) * 2.0, width=4)
    elif CASE == 3:
        for k in ag.range(K):
            y[k].store(x[k].load(ONE, width=4) * 2.0, width=4)
        y[K - 1].store(x[K - 1].load(ONE, width=4) * 2.0, width=4)
