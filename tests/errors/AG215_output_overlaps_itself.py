import argus as ag
from argus import f32

PART = ag.Owner(t=256, e=4, n="t*4 + e")


@ag.kernel(threads=256)
def scale(x: ag.In["M N=1024", f32], y: ag.Out["M N=1024", f32, "512 1"]):
    row = ag.grid(M)
    y[row].store(x[row].load(PART, width=16), width=16)
