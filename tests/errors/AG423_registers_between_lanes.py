import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=4, n="lane%8 + e*8 + lane//8*32")  # a lane's four elements stand between those of others


@ag.kernel(threads=64, requires="N == 256")
def running_sum(X: ag.In["N", f32], Y: ag.Out["N", f32]):
    ag.grid(1)
    x = X.load(ROW, width=4)
    Y.store(x.cumsum("n"), width=4)
