"""Wrong: a mask by indices in bf16."""

import argus as ag
from argus import bf16, f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="M % 64 == 0", computes="Y[m] = where(m < 257, A[m], 0)", example=dict(M=384))
def rounded_mask(A: ag.In["M", f32], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    x = A[64 * b].load(ROW, width=4)
    i = bf16(x.m + 64 * b)
    Y[64 * b].store(ag.where(i < bf16(257), x, 0.0), width=4)
