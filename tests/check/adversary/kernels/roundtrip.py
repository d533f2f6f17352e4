"""A tensor written and read again by the same workgroup, and branches around stores and barriers."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(7)), why="which variant")

MINE = ag.Owner(t=256, i="t")
OTHER = ag.Owner(t=256, i="255 - t")
LDS = ag.Layout(i=(256, 4))


@ag.kernel(threads=256, requires="N % 256 == 0", computes="z[i] = x[i] * 2", example=dict(N=512))
def roundtrip(x: ag.In["N", f32], w: ag.InOut["N", f32], z: ag.Out["N", f32]):
    block = ag.grid(N // 256)
    start = 256 * block
    if CASE in (0, 1, 2):
        w[start].store(x[start].load(MINE, width=4) * 2.0, width=4)
        if CASE == 0:
            ag.wait(vm=0)
            ag.barrier()
        if CASE == 2:
            ag.barrier()
        z[start].store(w[start].load(OTHER, width=4), width=4)
    else:
        tile = ag.shared(LDS, f32)
        r = x[start].load(MINE, width=4) * 2.0
        w[start].store(r, width=4)
        if CASE == 3:
            if block % 2 == 0:
                tile.store(r, width=4)
                ag.barrier()
            else:
                tile.store(r, width=4)
                ag.barrier()
        elif CASE == 4:
            if ag.wave() % 2 == 0:
                tile.store(r, width=4)
                ag.barrier()
            else:
                tile.store(r, width=4)
        elif CASE == 5:
            if block % 2 == 0:
                tile.store(r, width=4)
            ag.barrier()
        else:
            if ag.lane() < 32:
                tile.store(r, width=4)
            ag.barrier()
        z[start].store(tile.load(OTHER, width=4), width=4)
