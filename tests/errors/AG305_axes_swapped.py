import argus as ag
from argus import bf16, f32, i32

PART = ag.Owner(t=256, p=4, k="p*8 + t//32", row="t%32")


@ag.kernel(threads=256)
def scale(x: ag.In["M K", f32]):
    v = x[0, 0].load(PART, width=4)
