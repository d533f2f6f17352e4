"""Wrong: constants stored on top of each other's halves."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="M % 64 == 0", computes="Y[m] = A[m] + 1", example=dict(M=128))
def overlapping_view(A: ag.In["M", f32], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    buf = ag.shared(ag.Layout(m=(128, 4)), f32)
    v = buf.view(ag.Layout(m=(64, 4), h=(2, 2)))
    H = ag.Owner(lane=64, e=1, m="lane // 2 + e", h="lane % 2")
    v.store(ag.full(H, f32, 1.0), width=4)
    ag.barrier()
    x = A[64 * b].load(ROW, width=4)
    Y[64 * b].store(x + v.load(H, width=4).held_as(ROW), width=4)
