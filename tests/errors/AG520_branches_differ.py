import argus as ag
from argus import bf16, f32, i32

PART = ag.Owner(t=256, e=4, n="t*4 + e")


@ag.kernel(threads=256)
def scale(x: ag.In["N", f32], y: ag.Out["N", f32]):
    b = ag.grid(N // 1024)
    step = 0.5
    if b > 0:
        step = 1.5
    v = x[1024 * b].load(PART, width=16) * step
