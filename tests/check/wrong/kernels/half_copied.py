"""Wrong: the same with a direct copy."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")
L = ag.Layout(m=(64, 4))
ALL = ag.Owner(lane=64, e=64, m="e")


@ag.kernel(threads=64, requires="K >= 1 and K <= 64", computes="Y[n] = B[n] * sum(A[k], k)", example=dict(K=40))
def half_copied(A: ag.In["K", f32], B: ag.In["n=K", f32], Y: ag.Out["n=K", f32]):
    ag.grid(1)
    buf = ag.shared(L, f32)
    buf.store(ag.full(ROW, f32, 7.0), width=4)
    ag.barrier()
    if ag.lane() < K:
        A.copy(buf, ROW, width=4)
        ag.wait(vm=0)
        t = buf.load(ALL, width=16).sum("m", within="wave")
        Y.store(B.load(ROW, width=4) * t.without(), width=4)
