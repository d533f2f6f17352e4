"""Wrong: half of an index compared like the index."""

import argus as ag
from argus import f32, i16, i32

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="M % 64 == 0", computes="Y[m] = where(m < 5, A[m], 0)", example=dict(M=64))
def half_of_an_index(A: ag.In["M", f32], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    x = A[64 * b].load(ROW, width=4)
    i = i32(x.m + 64 * b).bitcast(i16).regs(1, 1).held_as(ROW)
    Y[64 * b].store(ag.where(i < i16(5), x, 0.0), width=4)
