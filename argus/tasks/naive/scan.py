"""Cumulative sums of f32 rows: a wave walks its row 64 elements at a time and carries what it has summed."""

import argus as ag
from argus import f32

TASK = dict(
    family="row",
    shapes=[dict(M=4096, N=8192)],
    held_out=[dict(M=64, N=2048), dict(M=32, N=4096)],
    small=[dict(M=8, N=2048)],
    library="scan",
)

PART = ag.Owner(lane=64, n="lane")
ONE = ag.Owner(lane=64, one="lane*0")


@ag.kernel(
    threads=64,
    requires="N % 64 == 0",
    computes="Y[m, n] = sum(where(k <= n, X[m, k], 0), k)",
    example=dict(M=4, N=256),
)
def scan(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):
    row = ag.grid(M)
    before = ag.zeros(ONE, f32).without()
    for i in ag.range(N // 64):
        x = X[row, 64 * i].load(PART, width=4)
        y = x.cumsum("n")
        Y[row, 64 * i].store(before + y, width=4)
        before = before + y.last("n")
