# ruff: noqa: E501
"""Row softmax: one wave per row of up to 1024, columns past the end masked."""

import argus as ag
from argus import LOG2E, f32, inf

WIDE = 1024
ROW = ag.Owner(lane=64, p=WIDE // 256, e=4, n="p*256 + lane*4 + e")


@ag.kernel(
    threads=256,
    requires="M % 4 == 0 and N % 4 == 0 and N <= 1024",
    computes="Y[m, n] = exp(X[m, n]) / sum(exp(X[m, k]), k)",
    example=dict(M=8, N=1000),
)
def softmax(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):
    row = 4 * ag.grid(M // 4) + ag.wave()
    x = X[row].load(ROW, width=16, guard=lambda n: n < N)
    x = ag.where(x.n < N, x * LOG2E, -inf)
    e = ag.exp2(x - x.max("n"))
    Y[row].store(e / e.sum("n"), width=16, guard=lambda n: n < N)
