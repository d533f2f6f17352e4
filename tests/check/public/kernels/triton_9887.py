"""triton #9887 (AMD MI): two loops over one global buffer; the second reads what other waves stored in the first.

https://github.com/triton-lang/triton/issues/9887, repaired by waiting for the stores and a barrier between the loops.
"""

import argus as ag
from argus import f32

FIXED = ag.knob(0, legal=(0, 1), why="the repair")

MINE = ag.Owner(t=256, i="t")
OTHER = ag.Owner(t=256, i="255 - t")


@ag.kernel(threads=256, requires="N % 512 == 0 and N >= 512", computes="D[i] = X[i]", example=dict(N=512))
def loops(X: ag.In["N", f32], C: ag.InOut["N", f32], D: ag.Out["N", f32]):
    start = 512 * ag.grid(N // 512)
    for tile in ag.range(2):
        C[start + 256 * tile].store(X[start + 256 * tile].load(MINE, width=4), width=4)
    if FIXED:
        ag.wait(vm=0)
        ag.barrier()
    for tile in ag.range(2):
        D[start + 256 * tile].store(C[start + 256 * tile].load(OTHER, width=4), width=4)
