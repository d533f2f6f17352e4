import argus as ag
from argus import f32

PART = ag.Owner(t=256, e=4, n="t*4 + e")


@ag.kernel(threads=256, policy=dict(unroll=4))
def scale(x: ag.In["N", f32], y: ag.Out["N", f32]):
    start = 1024 * ag.grid(ag.cdiv(N, 1024))
    y[start].store(x[start].load(PART, width=16), width=16)
