"""Wrong: a sum of constants that wraps around."""

import argus as ag
from argus import f32, i32

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="M % 64 == 0", computes="Y[m] = A[m] + 2147483648", example=dict(M=128))
def long_sum(A: ag.In["M", f32], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    c = ag.full(ROW, i32, 2147483647) + 1
    Y[64 * b].store(A[64 * b].load(ROW, width=4) + c.to(f32), width=4)
