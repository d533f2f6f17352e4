import argus as ag
from argus import f32

PART = ag.Owner(t=256, e=4, n="t*4 + e")


@ag.kernel(threads=256, computes="Y[n] = sum(X[n], n)")
def total(X: ag.In["N", f32], Y: ag.Out["N", f32]):
    ag.grid(1)
    Y.store(X.load(PART, width=16), width=16)
