import argus as ag
from argus import i32

PART = ag.Owner(t=64, i="t")


@ag.kernel(threads=64)
def spread(x: ag.In["n=64", i32], y: ag.Out["n=64", i32]):
    ag.grid(1)
    y.store(x.load(PART, width=4, guard=2 % ag.lane() < 1), width=4)
