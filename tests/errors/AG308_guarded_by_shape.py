import argus as ag
from argus import f16

PART = ag.Owner(lane=64, e=4, n="lane*4 + e")


@ag.kernel(threads=64, requires="N % 8 == 0", example=dict(N=296))
def copy(x: ag.In["N", f16], y: ag.Out["N", f16]):
    b = ag.grid(ag.cdiv(N, 256))
    y[256 * b].store(x[256 * b].load(PART, width=16, guard="shape"), width=8, guard="shape")
