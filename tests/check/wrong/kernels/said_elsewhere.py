"""Wrong: a condition that was stated of the data in another block."""

import argus as ag
from argus import f32, i32

ROW = ag.Owner(lane=64, e=1, m="lane + e")
ONE = ag.Owner(lane=64, x="lane*0")


@ag.kernel(threads=64, requires="S >= 1 and S <= 63", computes="Y[b, m] = A[b, m]", example=dict(B=4, S=3))
def said_elsewhere(A: ag.In["B m=64", f32], T: ag.In["B", i32], Z: ag.In["S", f32], Y: ag.Out["B m=64", f32]):
    b = ag.grid(B)
    t = T[b].load(ONE, width=4)
    p = ag.as_index(t, 1, 63, name="p")
    x = A[b].load(ROW, width=4)
    if b < 1:
        ag.as_index(t, S, 63, name="q")
    if p >= S:
        Y[b].store(x, width=4)
