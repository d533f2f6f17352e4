"""Sums of two rows each, stored inside the loop that walks over all rows."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(8)), why="which variant")

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(
    threads=64,
    requires="M % 64 == 0 and S >= 1 and K == 2 * S",
    computes="Y[s, m] = sum(where(k >= 2 * s, where(k < 2 * s + 2, A[k, m], 0), 0), k)",
    example=dict(M=64, S=3, K=6),
)
def parts(A: ag.In["K M", f32], Y: ag.Out["S M", f32]):
    b = ag.grid(M // 64)
    acc = ag.zeros(ROW, f32)
    for j in ag.range(S):
        if CASE not in (1, 2):
            acc = ag.zeros(ROW, f32)
        acc = acc + A[2 * j, 64 * b].load(ROW, width=4)
        if CASE != 2:
            acc = acc + A[2 * j if CASE == 3 else 2 * j + 1, 64 * b].load(ROW, width=4)
        if CASE == 4:
            acc = acc + A[ag.min(2 * j + 2, K - 1), 64 * b].load(ROW, width=4)
        if CASE == 5:
            Y[S - 1 - j, 64 * b].store(acc, width=4)
        elif CASE == 6:
            Y[j, 64 * b].store(acc + acc, width=4)
        else:
            Y[j, 64 * b].store(acc, width=4)
    if CASE == 7:
        Y[S - 1, 64 * b].store(acc, width=4)
