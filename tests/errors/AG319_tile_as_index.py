import argus as ag
from argus import bf16, f32, i32

ONE = ag.Owner(t=256, n="t")
PART = ag.Owner(t=256, e=4, n="t*4 + e")


@ag.kernel(threads=256)
def scale(x: ag.In["N", f32], ids: ag.In["N", i32]):
    i = ids.load(ONE, width=4)
    v = x[i].load(PART, width=16)
