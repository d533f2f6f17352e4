"""Wrong: an axis of the grid that may be empty."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="M % 64 == 0 and P >= 1", computes="Y[m] = A[m]", example=dict(M=128, P=1))
def no_block(A: ag.In["M", f32], Z: ag.In["P", f32], Y: ag.Out["M", f32]):
    b, c = ag.grid(M // 64, ag.min(P // 2, 1))
    x = A[64 * b].load(ROW, width=4)
    Y[64 * b].store(x, width=4)
