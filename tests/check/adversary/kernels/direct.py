"""Rows copied straight from global memory to LDS and read by other waves: who waits for what."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(7)), why="which variant")

LDS = ag.Layout(r=(8, 256), c=(64, 4))
IN = ag.Owner(t=256, r="t//64", c="t%64")
OUT = ag.Owner(t=256, r="3 - t//64", c="t%64")


@ag.kernel(threads=256, requires="M % 8 == 0", computes="Y[m, n] = X[m, n]", example=dict(M=8))
def direct(X: ag.In["M n=64", f32], Y: ag.Out["M n=64", f32]):
    block = ag.grid(M // 8)
    tile = ag.shared(LDS, f32)
    for p in ag.unroll(2):
        X[8 * block + 4 * p].copy(tile, IN, r=4 * p, width=4)
    if CASE == 0 or CASE == 5:
        ag.wait(vm=0)
        ag.barrier()
    elif CASE == 1:
        ag.barrier()
    elif CASE == 2:
        ag.wait(vm=1)
        ag.barrier()
    elif CASE == 3:
        ag.barrier()
        ag.wait(vm=0)
    elif CASE == 4:
        ag.wait(vm=0)
    else:
        ag.wait(vm=0)
        ag.barrier(bare=True)
    for p in ag.unroll(2):
        if CASE == 5:
            Y[8 * block + 4 * p].store(tile.load(OUT, r=4 * (1 - p), width=4), width=4)
        else:
            Y[8 * block + 4 * p].store(tile.load(OUT, r=4 * p, width=4), width=4)
