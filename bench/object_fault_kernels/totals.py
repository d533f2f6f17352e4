"""total[i] += x[n, i] for all rows n, one workgroup per row: atomics."""

import argus as ag
from argus import f32

PART = ag.Owner(t=64, e=2, i="t*2 + e")


@ag.kernel(threads=64, requires="N >= 1", example=dict(N=5))
def totals(x: ag.In["N i=128", f32], total: ag.InOut["i=128", f32]):
    n = ag.grid(N)
    total[0].atomic_add(x[n].load(PART, width=8))
