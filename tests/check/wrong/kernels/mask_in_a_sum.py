"""Wrong: a mask inside a sum that a branch leaves out by where the element stands."""

import argus as ag
from argus import f32

R2 = ag.Owner(lane=64, e=2, n="e*64 + lane")
R1 = ag.Owner(lane=64, e=1, n="e*64 + lane")


@ag.kernel(
    threads=64,
    requires="K >= 1 and K <= 128",
    computes="Y[p] = X[p] * sum(where(k < K, X[k], 0), k)",
    example=dict(K=100),
)
def mask_in_a_sum(X: ag.In["n=128", f32], Z: ag.In["K", f32], Y: ag.Out["p=128", f32]):
    ag.grid(1)
    x = X.load(R2, width=4)
    lo = X.load(R1, width=4)
    hi = X[64].load(R1, width=4)
    t = ag.where(x.n < K, x, 0.0).sum("n")
    y = lo * x.sum("n")
    if K < 64:
        y = lo * t
    Y.store(y, width=4)
    Y[64].store(hi * t, width=4)
