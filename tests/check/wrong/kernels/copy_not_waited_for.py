"""Wrong: a wave reads from LDS what its own direct copy may not have written yet."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")
L = ag.Layout(m=(64, 4))


@ag.kernel(
    threads=64, requires="M % 64 == 0", computes="Y[m] = A[m]", policy=dict(waits="explicit"), example=dict(M=128)
)
def copy_not_waited_for(A: ag.In["M", f32], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    buf = ag.shared(L, f32)
    A[64 * b].copy(buf, ROW, width=4)
    ag.barrier(bare=True)
    z = buf.load(ROW, width=4)
    ag.wait(lgkm=0)
    Y[64 * b].store(z, width=4)
