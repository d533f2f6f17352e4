"""z = x + y on vectors of f32: the smallest kernel. A thread adds 4 neighbouring elements, a workgroup 1024."""

import argus as ag
from argus import f32

PER_THREAD = ag.knob(4, legal=(1, 2, 4), why="elements per thread; 4 make a 16-byte access")

PART = ag.Owner(t=256, e=PER_THREAD, i=f"t*{PER_THREAD} + e")


@ag.kernel(threads=256, requires="N % PER_THREAD == 0", computes="z[i] = x[i] + y[i]", example=dict(N=4096))
def vadd(x: ag.In["N", f32], y: ag.In["N", f32], z: ag.Out["N", f32]):
    size = 256 * PER_THREAD
    start = size * ag.grid(ag.cdiv(N, size))
    # The last workgroup may reach past N: such loads give zeros and such stores do nothing.
    total = x[start].load(PART, width=4 * PER_THREAD) + y[start].load(PART, width=4 * PER_THREAD)
    z[start].store(total, width=4 * PER_THREAD)
