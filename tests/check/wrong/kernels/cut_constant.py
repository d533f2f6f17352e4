"""Wrong: halves of a constant taken for the constant."""

import argus as ag
from argus import f32, i16, i32

ROW = ag.Owner(lane=64, e=1, m="lane + e")
TWO = ag.Owner(lane=64, e=2, m="lane*2 + e")


@ag.kernel(threads=64, requires="M % 128 == 0", computes="Y[m] = A[m] + 5", example=dict(M=128))
def cut_constant(A: ag.In["M", f32], Y: ag.Out["M", f32]):
    b = ag.grid(M // 128)
    c = ag.full(ROW, i32, 5).bitcast(i16).held_as(TWO)
    Y[128 * b].store(A[128 * b].load(TWO, width=8) + c.to(f32), width=8)
