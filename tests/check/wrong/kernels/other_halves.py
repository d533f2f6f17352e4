"""Wrong: f16 read as bf16."""

import argus as ag
from argus import bf16, f16, f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="M % 64 == 0", computes="Y[m] = A[m]", example=dict(M=64))
def other_halves(A: ag.In["M", f16], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    x = A[64 * b].load(ROW, width=2)
    Y[64 * b].store(x.bitcast(bf16).to(f32), width=4)
