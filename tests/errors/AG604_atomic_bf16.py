import argus as ag
from argus import bf16, f32, i32

PART = ag.Owner(t=256, e=4, n="t*4 + e")


@ag.kernel(threads=256)
def scale(x: ag.In["N", bf16], y: ag.InOut["N", bf16]):
    start = 1024 * ag.grid(ag.cdiv(N, 1024))
    y[start].atomic_add(x[start].load(PART, width=8))
