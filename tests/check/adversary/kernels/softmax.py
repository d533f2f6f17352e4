"""Row softmax by one wave per row, with the reductions by hand or by the language."""

import argus as ag
from argus import LOG2E, f32, inf

CASE = ag.knob(0, legal=tuple(range(11)), why="which variant")

ROW = ag.Owner(lane=64, p=2, e=4, n="p*256 + lane*4 + e")


@ag.kernel(
    threads=128,
    requires="M % 2 == 0 and N % 4 == 0 and N <= 512 and N >= 4",
    computes="Y[m, n] = exp(X[m, n] - max(X[m, j], j)) / sum(exp(X[m, i] - max(X[m, j], j)), i)",
    example=dict(M=2, N=500),
)
def softmax(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):
    row = 2 * ag.grid(M // 2) + ag.wave()
    x = X[row].load(ROW, width=16, guard=lambda n: n < N)
    if CASE == 1:
        x = ag.where(x.n <= N, x * LOG2E, -inf)
    elif CASE == 2:
        x = ag.where(x.n < N - 1, x * LOG2E, -inf)
    elif CASE == 3:
        x = x * LOG2E
    else:
        x = ag.where(x.n < N, x * LOG2E, -inf)
    top = x.max("n")
    if CASE == 4:
        e = ag.exp2(x - top.from_lane(ag.lane() ^ 1) - 1.0)
    else:
        e = ag.exp2(x - top)
    total = e.sum("n")
    if CASE in (5, 6, 7, 8):
        mine = e[0, 0].without("n")
        for i in ag.unroll(8):
            if i > 0:
                mine = mine + e[i // 4, i % 4].without("n")
        for step in ag.unroll(5 if CASE == 5 else 6):
            d = 2**4 if CASE == 7 and step == 5 else 2**step
            if CASE == 8:
                mine = mine + mine.from_lane((ag.lane() + d) % 64)
            else:
                mine = mine + mine.from_lane(ag.lane() ^ d)
        total = mine
    if CASE == 9:
        total = total - e[0, 0].without("n")
    y = e / total
    if CASE == 10:
        Y[row].store(y, width=16)
    else:
        Y[row].store(y, width=16, guard=lambda n: n < N)
