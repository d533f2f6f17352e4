"""y = x turned around by LDS: odd lanes copy their element there directly, even lanes through a register."""

import argus as ag
from argus import i32

MINE = ag.Owner(t=128, i="t")
OPPOSITE = ag.Owner(t=128, i="127 - t")


@ag.kernel(threads=128, requires="N % 128 == 0", example=dict(N=256))
def direct(x: ag.In["N", i32], y: ag.Out["N", i32]):
    b = ag.grid(N // 128)
    v = x[128 * b].load(MINE, width=4)
    buffer = ag.shared(ag.Layout(i=(128, 4)), i32)
    if ag.lane() % 2 == 1:
        x[128 * b].copy(buffer, MINE, width=4)
    else:
        buffer.store(v, width=4)
    ag.wait(vm=0)
    ag.barrier()
    y[128 * b].store(buffer.load(OPPOSITE, width=4), width=4)
