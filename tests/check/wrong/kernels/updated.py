"""Wrong: a factor that the kernel itself updates."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="M % 64 == 0", computes="Y[m] = A[m] * 2", example=dict(M=128))
def updated(A: ag.In["M", f32], Z: ag.InOut["M", f32], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    x = A[64 * b].load(ROW, width=4)
    z = Z[64 * b].load(ROW, width=4)
    Z[64 * b].atomic_add(x)
    Y[64 * b].store(x * z, width=4)
