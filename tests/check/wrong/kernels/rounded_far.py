"""Wrong: a mask by indices beyond 2**24 in f32."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="M == 64", computes="Y[m] = where(m < 1, A[m], 0)", example=dict(M=64))
def rounded_far(A: ag.In["M", f32], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    x = A[64 * b].load(ROW, width=4)
    Y[64 * b].store(ag.where(f32(x.m + 16777216) < 16777217.0, x, 0.0), width=4)
