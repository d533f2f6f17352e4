"""Wrong: an unsigned number negated."""

import argus as ag
from argus import f32, u32

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="M % 64 == 0", computes="Y[m] = 0 - A[m]", example=dict(M=128))
def unsigned_negative(A: ag.In["M", u32], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    Y[64 * b].store((-(A[64 * b].load(ROW, width=4))).to(f32), width=4)
