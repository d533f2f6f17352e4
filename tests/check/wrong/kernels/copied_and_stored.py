"""Wrong: a factor copied to LDS from a tensor that is stored to."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")
L = ag.Layout(m=(64, 4))


@ag.kernel(threads=64, requires="M % 64 == 0", computes="Y[m] = A[m] * 2", example=dict(M=128))
def copied_and_stored(A: ag.In["M", f32], Z: ag.InOut["M", f32], Y: ag.Out["M", f32]):
    b = ag.grid(M // 64)
    buf = ag.shared(L, f32)
    Z[64 * b].copy(buf, ROW, width=4)
    ag.wait(vm=0)
    ag.barrier()
    z = buf.load(ROW, width=4)
    x = A[64 * b].load(ROW, width=4)
    Z[64 * b].store(x, width=4)
    Y[64 * b].store(x * z, width=4)
