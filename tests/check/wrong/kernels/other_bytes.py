"""Wrong: fp8 read as bf8."""

import argus as ag
from argus import bf8, f32, fp8

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="M % 64 == 0", computes="Y[m] = A[m]", example=dict(M=64))
def other_bytes(A: ag.In["M", fp8], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    x = A[64 * b].load(ROW, width=1)
    Y[64 * b].store(x.bitcast(bf8).to(f32), width=4)
