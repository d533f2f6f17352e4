"""Rows through LDS, by two kinds of lanes: the lower half of each wave writes its element, the upper half its negative.

y[n, i] = x[n, i ^ 96] with the sign of the lane that wrote it; lane 0 of each wave also counts rows through LDS."""

import argus as ag
from argus import f32

MINE = ag.Owner(t=256, e=1, i="t + e*0")
OTHER = ag.Owner(t=256, e=1, i="(t ^ 96) + e*0")


@ag.kernel(threads=256, requires="N >= 1", example=dict(N=5))
def branches(x: ag.In["N i=256", f32], y: ag.Out["N i=256", f32]):
    ag.grid(1)
    ring = ag.ring(2, s=(ag.Layout(i=(256, 4)), f32))
    for n in ag.range(N):
        v = x[n].load(MINE, width=4)
        if ag.lane() < 32:
            ring[n].s.store(v, width=4)
        else:
            ring[n].s.store(-v, width=4)
        ag.barrier()
        y[n].store(ring[n].s.load(OTHER, width=4), width=4)
