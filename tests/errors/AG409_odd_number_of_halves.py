import argus as ag
from argus import f16, i32

PART = ag.Owner(t=256, e=3, n="t*3 + e")


@ag.kernel(threads=256)
def scale(x: ag.In["N", f16], y: ag.Out["N", i32]):
    start = 768 * ag.grid(ag.cdiv(N, 768))
    v = x[start].load(PART, width=2)
    y[start].store(v.bitcast(i32), width=4)
