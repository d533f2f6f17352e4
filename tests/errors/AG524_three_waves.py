import argus as ag
from argus import f32

PART = ag.Owner(t=192, e=4, n="t*4 + e")


@ag.kernel(threads=192)
def scale(x: ag.In["N", f32], y: ag.Out["N", f32]):
    start = 768 * ag.grid(ag.cdiv(N, 768))
    with ag.opposite():
        y[start].store(x[start].load(PART, width=16), width=16)
