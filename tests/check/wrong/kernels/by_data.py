"""Wrong: rows permuted by numbers of which nothing is known."""

import argus as ag
from argus import f32, i32

ONE = ag.Owner(lane=64, x="lane*0")


@ag.kernel(threads=64, computes="Y[g, m] = where(g < 64, A[m], 0)")
def by_data(A: ag.In["m=64", f32], T: ag.In["G=64", i32], Y: ag.Out["g=64 m=64", f32]):
    b = ag.grid(64)
    t = T[b].load(ONE, width=4)
    p = ag.as_index(t + t, 0, 63, name="p")
    x = A[ag.lane() * 0].load(ag.Owner(lane=64, e=64, m="e"), width=16)
    Y[(b + p) % 64].store(x, width=16, guard=ag.lane() == 0)
