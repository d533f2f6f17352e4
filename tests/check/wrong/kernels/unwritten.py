"""Wrong: LDS that only some threads write, read by them whole."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")
L = ag.Layout(m=(64, 4))
ALL = ag.Owner(lane=64, e=64, m="e")


@ag.kernel(threads=64, requires="K >= 1 and K <= 64", computes="Y[n] = B[n] * sum(A[k], k)", example=dict(K=40))
def unwritten(A: ag.In["K", f32], B: ag.In["n=K", f32], Y: ag.Out["n=K", f32]):
    ag.grid(1)
    buf = ag.shared(L, f32)
    x = A.load(ROW, width=4, guard="shape")
    if ag.lane() < K:
        buf.store(x, width=4)
        ag.wait(lgkm=0)
        t = buf.load(ALL, width=16).sum("m", within="wave")
        Y.store(B.load(ROW, width=4) * t.without(), width=4)
