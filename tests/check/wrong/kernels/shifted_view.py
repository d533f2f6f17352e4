"""Wrong: halves of neighbouring constants read through a view."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="M % 64 == 0", computes="Y[m] = A[m] + 1", example=dict(M=128))
def shifted_view(A: ag.In["M", f32], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    buf = ag.shared(ag.Layout(m=(128, 4)), f32)
    buf.store(ag.full(ROW, f32, 1.0), width=4)
    buf.store(ag.full(ROW, f32, 1.0), m=("m", 64), width=4)
    ag.barrier()
    v = buf.view(ag.Layout(m=(64, 4), h=(2, 2)))
    x = A[64 * b].load(ROW, width=4)
    Y[64 * b].store(x + v.load(ag.Owner(lane=64, e=1, m="lane + e", h="e"), h=1, width=4).without("h"), width=4)
