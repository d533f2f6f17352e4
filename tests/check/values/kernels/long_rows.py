# ruff: noqa: E501
"""Long rows: a wave walks a row in tiles of 256."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")


@ag.kernel(threads=64, requires="N % 256 == 0", computes="s[m] = sum(x[m, k], k)", example=dict(M=3, N=1024))
def rowsum(x: ag.In["M N", f32], s: ag.Out["M", f32]):
    m = ag.grid(M)
    total = ag.zeros(ag.Owner(lane=64, z="lane*0"), f32)
    for j in ag.range(N // 256):
        total = total + x[m, 256 * j].load(ROW, width=16).sum("n")
    s[m].store(total, width=4, guard=ag.lane() == 0)
