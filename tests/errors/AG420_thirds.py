import argus as ag
from argus import bf16, f32, i32

PART = ag.Owner(lane=64, m="lane//3", n="lane%3")


@ag.kernel(threads=256)
def scale(x: ag.In["M N", f32]):
    total = x[0].load(PART, width=4).sum("n")
