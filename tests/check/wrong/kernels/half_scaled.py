"""Wrong: half of an element multiplied."""

import argus as ag
from argus import bf16, f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="M % 64 == 0", computes="Y[m] = A[m] + A[m]", example=dict(M=128))
def half_scaled(A: ag.In["M", f32], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    c = A[64 * b].load(ROW, width=4).bitcast(bf16).regs(0, 1).held_as(ROW)
    z = ag.full(ROW, f32, 2.0)
    Y[64 * b].store(ag.fma(c.to(f32), z, 0.0), width=4)
