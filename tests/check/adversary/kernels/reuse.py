"""One LDS buffer used for two tensors after one another, and a ring seen under two numbers."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(6)), why="which variant")

LDS = ag.Layout(i=(256, 4))
MINE = ag.Owner(t=256, i="t")
OTHER = ag.Owner(t=256, i="255 - t")


@ag.kernel(threads=256, requires="N % 256 == 0", computes="z[i] = x[i] + y[i]", example=dict(N=512))
def reuse(x: ag.In["N", f32], y: ag.In["N", f32], z: ag.Out["N", f32]):
    start = 256 * ag.grid(N // 256)
    slots = ag.ring(2, v=(LDS, f32))
    second = 2 if CASE in (0, 1, 2, 3) else 1
    slots[0].v.store(x[start].load(MINE, width=4), width=4)
    if CASE == 3 or CASE == 5:
        slots[second].v.store(y[start].load(MINE, width=4), width=4)
    ag.barrier()
    a = slots[0].v.load(OTHER, width=4)
    if CASE != 3 and CASE != 5:
        if CASE == 0 or CASE == 2:
            ag.barrier()
        slots[second].v.store(y[start].load(MINE, width=4), width=4)
        if CASE != 2:
            ag.barrier()
    b = slots[second].v.load(OTHER, width=4)
    z[start].store(a + b, width=4)
