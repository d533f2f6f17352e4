import argus as ag
from argus import f32, i32

PART = ag.Owner(t=256, e=4, n="t*4 + e")


@ag.kernel(threads=256, computes="Y[m, m] = X[m, m]")
def scale(X: ag.In["M N", f32], W: ag.In["N", f32], row: ag.In["M", i32], Y: ag.Out["M N", f32]):
    m = ag.grid(M)
    Y[m].store(X[m].load(PART, width=16), width=16)
