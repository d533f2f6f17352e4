"""Sum of squares of long rows: every lane adds up its own columns, lanes meet at the end."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")


@ag.kernel(threads=64, requires="N % 4 == 0", computes="s[m] = sum(x[m, k] * x[m, k], k)", example=dict(M=3, N=1024))
def rowsum(x: ag.In["M N", f32], s: ag.Out["M", f32]):
    m = ag.grid(M)
    total = ag.zeros(ROW, f32)
    for j in ag.range(ag.cdiv(N, 256)):
        v = x[m, 256 * j].load(ROW, width=16, guard="shape")
        total = total + v * v
    s[m].store(total.sum("n"), width=4, guard=ag.lane() == 0)
