import argus as ag
from argus import bf16, f32, i32

PART = ag.Owner(t=256, e=4, n="t*4 + e")


@ag.kernel(threads=256)
def scale(x: ag.In["N", f32], y: ag.Out["N", f32]):
    a, b, c, d, e, f, g = ag.grid(N, N, N, N, N, N, N)
