"""y[r] = x[rows[r]]: an address from data."""

import argus as ag
from argus import f32, i32

PART = ag.Owner(t=64, e=4, i="t*4 + e")
ONE = ag.Owner(t=64, e=1, i="e + t*0")


@ag.kernel(threads=64, example=dict(M=5, R=4))
def gather(x: ag.In["M i=256", f32], rows: ag.In["R", i32], y: ag.Out["R i=256", f32]):
    r = ag.grid(R)
    source = ag.as_index(rows[r].load(ONE, width=4), 0, M - 1, name="source")
    y[r].store(x[source].load(PART, width=16), width=16)
