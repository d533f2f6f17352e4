import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")


@ag.kernel(threads=64, requires="N == 256")
def running_sum(X: ag.In["N", f32], Y: ag.Out["N", f32]):
    ag.grid(1)
    x = X.load(ROW, width=16)
    if ag.lane() < 32:
        Y.store(x.cumsum("n"), width=16)
