"""bf16 rows scaled by their mean square and shifted by their mean, a pass over the row for each and one for the result.

The two sums need nothing of each other: one pass can take both.
"""

# ruff: noqa: F821, F722, C408, B, UP, RUF
import argus as ag
from argus import bf16, f32

TASK = dict(
    family="row",
    shapes=[dict(M=2048, N=65536)],
    held_out=[dict(M=64, N=2048)],
    small=[dict(M=8, N=1024)],
)

PART = ag.Owner(lane=64, n="lane")


@ag.kernel(
    threads=64,
    requires="N % 64 == 0",
    computes="Y[m, n] = X[m, n] * rsqrt(sum(X[m, k] * X[m, k], k) / N + eps) - sum(X[m, j], j) / N",
    example=dict(M=4, N=256),
)
def statistics(X: ag.In["M N", bf16], Y: ag.Out["M N", bf16], eps: f32):
    row = ag.grid(M)
    total = ag.zeros(PART, f32)
    for i in ag.range(N // 64):
        x = X[row, 64 * i].load(PART, width=2).to(f32)
        total = total + x
    mean = total.sum("n") / f32(N)
    squares = ag.zeros(PART, f32)
    for j in ag.range(N // 64):
        y = X[row, 64 * j].load(PART, width=2).to(f32)
        squares = squares + y * y
    scale = ag.rsqrt(squares.sum("n") / f32(N) + eps)
    for k in ag.range(N // 64):
        z = X[row, 64 * k].load(PART, width=2).to(f32)
        Y[row, 64 * k].store((z * scale - mean).to(bf16), width=2)
