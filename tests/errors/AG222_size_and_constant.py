import argus as ag
from argus import f32

N = 64
PART = ag.Owner(lane=N, n="lane")


@ag.kernel(threads=64, requires="N % 64 == 0", example=dict(N=64))
def copy(x: ag.In["N", f32], y: ag.Out["N", f32]):
    b = ag.grid(N // 64)
    y[64 * b].store(x[64 * b].load(PART, width=4), width=4)
