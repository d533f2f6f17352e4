import argus as ag
from argus import f32, fp8

PART = ag.Owner(t=256, e=4, n="t*4 + e")


@ag.kernel(threads=256)
def narrow(x: ag.In["N", f32], y: ag.Out["N", fp8]):
    start = 1024 * ag.grid(ag.cdiv(N, 1024))
    v = x[start].load(PART, width=16)
    y[start].store(v.to(fp8, rounding="rtz"), width=4)
