"""Layer normalisation of bf16 rows, one pass over the row per step: mean, variance, result. One wave per row."""

import argus as ag
from argus import bf16, f32

TASK = dict(
    family="row",
    shapes=[dict(M=8192, N=4096)],
    held_out=[dict(M=64, N=2048), dict(M=32, N=512)],
    small=[dict(M=8, N=1024)],
    specials=True,
)

MEAN = "sum(X[m, j], j) / N"
VARIANCE = f"sum((X[m, k] - {MEAN}) * (X[m, k] - {MEAN}), k) / N"

PART = ag.Owner(lane=64, n="lane")


@ag.kernel(
    threads=64,
    requires="N % 64 == 0",
    computes=f"Y[m, n] = (X[m, n] - {MEAN}) * rsqrt({VARIANCE} + eps) * G[n] + B[n]",
    example=dict(M=4, N=256),
)
def layernorm(X: ag.In["M N", bf16], G: ag.In["N", bf16], B: ag.In["N", bf16], Y: ag.Out["M N", bf16], eps: f32):
    row = ag.grid(M)
    total = ag.zeros(PART, f32)
    for i in ag.range(N // 64):
        x = X[row, 64 * i].load(PART, width=2).to(f32)
        total = total + x
    mean = total.sum("n") / f32(N)
    squares = ag.zeros(PART, f32)
    for j in ag.range(N // 64):
        y = X[row, 64 * j].load(PART, width=2).to(f32)
        squares = squares + (y - mean) * (y - mean)
    scale = ag.rsqrt(squares.sum("n") / f32(N) + eps)
    for k in ag.range(N // 64):
        z = X[row, 64 * k].load(PART, width=2).to(f32)
        gain = G[64 * k].load(PART, width=2).to(f32)
        shift = B[64 * k].load(PART, width=2).to(f32)
        Y[row, 64 * k].store(((z - mean) * scale * gain + shift).to(bf16), width=2)
