"""Wrong: a loop whose counter passes the largest number."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="S <= 7", computes="Y[m] = A[m]", example=dict(S=3))
def wrapping_counter(A: ag.In["m=64", f32], Z: ag.In["S", f32], Y: ag.Out["m=64", f32]):
    ag.grid(1)
    x = A.load(ROW, width=4)
    for i in ag.range(2147483640, S + 2147483640, 1048576):
        ag.barrier()
    Y.store(x, width=4)
