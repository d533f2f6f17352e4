"""Row softmax in bf16, one pass over the row per step: maximum, sum of exponentials, result. One wave per row."""

import argus as ag
from argus import LOG2E, bf16, f32, inf

TASK = dict(
    family="row",
    shapes=[dict(M=8192, N=4096)],
    held_out=[dict(M=64, N=2048), dict(M=32, N=512)],
    small=[dict(M=8, N=1024)],
    specials=True,
)

PART = ag.Owner(lane=64, n="lane")


@ag.kernel(
    threads=64,
    requires="N % 64 == 0",
    computes="Y[m, n] = exp(X[m, n] - max(X[m, k], k)) / sum(exp(X[m, j] - max(X[m, k], k)), j)",
    example=dict(M=4, N=256),
)
def softmax(X: ag.In["M N", bf16], Y: ag.Out["M N", bf16]):
    row = ag.grid(M)
    top = ag.full(PART, f32, -inf)
    for i in ag.range(N // 64):
        x = X[row, 64 * i].load(PART, width=2).to(f32)
        top = ag.max(top, x)
    best = top.max("n")
    total = ag.zeros(PART, f32)
    for j in ag.range(N // 64):
        y = X[row, 64 * j].load(PART, width=2).to(f32)
        total = total + ag.exp2((y - best) * LOG2E)
    weight = total.sum("n")
    for k in ag.range(N // 64):
        z = X[row, 64 * k].load(PART, width=2).to(f32)
        Y[row, 64 * k].store((ag.exp2((z - best) * LOG2E) / weight).to(bf16), width=2)
