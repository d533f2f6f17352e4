"""The sum of all elements in f32: one wave walks them 64 at a time."""

import argus as ag
from argus import f32

TASK = dict(
    family="row",
    shapes=[dict(M=65536)],
    held_out=[dict(M=8192), dict(M=32768)],
    small=[dict(M=8192)],
    library="to_scalar",
)

PART = ag.Owner(lane=64, m="lane")


@ag.kernel(threads=64, requires="M % 64 == 0", computes="L[z] = sum(P[z, m], m)", example=dict(M=256))
def reduction(P: ag.In["one=1 M", f32], L: ag.Out["one=1", f32]):
    z = ag.grid(1)
    total = ag.zeros(PART, f32)
    for i in ag.range(M // 64):
        x = P[z, 64 * i].load(PART, width=4)
        total = total + x
    added = total.sum("m")
    L[z].store(added, width=4, guard=ag.lane() == 0)
