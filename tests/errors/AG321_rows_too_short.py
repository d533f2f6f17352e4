import argus as ag
from argus import bf16, f32, i32

TILE = ag.Layout(row=(32, 64), col=(32, 4))
PART = ag.Owner(t=256, e=4, n="t*4 + e")


@ag.kernel(threads=256)
def scale(x: ag.In["N", f32], y: ag.Out["N", f32]):
    tile = ag.shared(TILE, f32)
