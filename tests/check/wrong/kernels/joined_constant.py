"""Wrong: two short constants as one long one."""

import argus as ag
from argus import f32, i16, i32

ROW = ag.Owner(lane=64, e=1, m="lane + e")
TWO = ag.Owner(lane=64, e=2, m="lane*2 + e")


@ag.kernel(threads=64, requires="M % 64 == 0", computes="Y[m] = A[m] + 5", example=dict(M=128))
def joined_constant(A: ag.In["M", f32], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    c = ag.full(TWO, i16, 5).bitcast(i32).held_as(ROW)
    Y[64 * b].store(A[64 * b].load(ROW, width=4) + c.to(f32), width=4)
