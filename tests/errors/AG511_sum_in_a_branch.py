import argus as ag
from argus import f32

LANES = ag.Owner(lane=64, n="lane")


@ag.kernel(threads=64)
def total(X: ag.In["M n=64", f32], Y: ag.Out["M", f32]):
    m = ag.grid(M)
    x = X[m].load(LANES, width=4)
    if ag.lane() == 0:
        Y[m].store(x.sum("n"), width=4)
