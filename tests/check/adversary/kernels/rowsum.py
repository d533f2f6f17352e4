"""Sums of long rows: a loop over tiles of 256, then lanes."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(9)), why="which variant")

PART = ag.Owner(lane=64, e=4, n="lane*4 + e")


@ag.kernel(threads=64, requires="N % 4 == 0 and N >= 4", computes="s[m] = sum(X[m, n], n)", example=dict(M=2, N=300))
def rowsum(X: ag.In["M N", f32], s: ag.Out["M", f32]):
    row = ag.grid(M)
    total = ag.zeros(PART, f32)
    tiles = N // 256 if CASE == 1 else ag.cdiv(N, 256)
    if CASE == 4:
        total = X[row].load(PART, width=16, guard=lambda n: n < N)
    for i in ag.range(tiles):
        if CASE == 2:
            x = X[row, 256 * i].load(PART, width=16)
        elif CASE == 3:
            x = X[row, 256 * i].load(PART, width=16, guard=lambda n: n < N)
        elif CASE == 5:
            x = X[row, 252 * i].load(PART, width=16, guard=lambda n: 252 * i + n < N)
        else:
            x = X[row, 256 * i].load(PART, width=16, guard="shape" if CASE == 8 else lambda n: 256 * i + n < N)
        total = x if CASE == 6 else total + x
    if CASE == 7:
        lane_sum = total[0].without("n") + total[1].without("n") + total[2].without("n")
        for step in ag.unroll(6):
            lane_sum = lane_sum + lane_sum.from_lane(ag.lane() ^ 2**step)
        s[row].store(lane_sum, width=4, guard=ag.lane() == 0)
    else:
        s[row].store(total.sum("n"), width=4, guard=ag.lane() == 0)
