import argus as ag
from argus import f32

S = ag.knob(4, legal=(4, 8))
PART = ag.Owner(lane=64, i=S, n="lane", s="i")


@ag.kernel(threads=64, requires="N % 64 == 0", example=dict(N=64))
def copy(x: ag.In["N S=3", f32], y: ag.Out["N S=3", f32]):
    b = ag.grid(N // 64)
    y[64 * b].store(x[64 * b].load(PART, width=4), width=4)
