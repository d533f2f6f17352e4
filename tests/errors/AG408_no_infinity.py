import argus as ag
from argus import fp8, inf

PART = ag.Owner(t=256, e=16, n="t*16 + e")


@ag.kernel(threads=256)
def masked(x: ag.In["N", fp8]):
    start = 4096 * ag.grid(ag.cdiv(N, 4096))
    v = x[start].load(PART, width=16)
    w = ag.where(v.n < 100, v, -inf)
