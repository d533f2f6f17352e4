import argus as ag
from argus import f32

PART = ag.Owner(t=256, e=4, n="t*4 + e")


@ag.kernel(threads=256)
def scale(x: ag.In["N", f32], y: ag.Out["N", f32]):
    y.store(x.load(PART, width=16) * 2.0, width=16)
