import argus as ag
from argus import bf16, f32, i32

PART = ag.Owner(t=256, e=4, n="t*4 + e")


@ag.kernel(threads=256)
def scale(x: ag.In["N", f32], y: ag.Out["N", f32]):
    phase = 0
    for i in ag.range(N // 1024):
        v = x[1024 * i].load(PART, width=16)
        y[1024 * i + phase].store(v, width=16)
        phase = phase + 1
