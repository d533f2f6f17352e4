"""Normalisation, rotation and quantisation of attention heads, as plain as it gets: one wave computes one head.

x = X / sqrt(mean X^2 + eps) W;   y = x cos + turned(x) sin;   Y = y scale in fp8, saturated.

A head has two halves of 64: turned(x) is the second half with its sign changed, then the first. Angles belong to the
token.
"""

import argus as ag
from argus import bf16, f32, fp8

TASK = dict(
    family="rope_norm_quant",
    shapes=[dict(M=16384, H=32)],
    held_out=[dict(M=37, H=5)],
    small=[dict(M=9, H=3)],
)

HALF = ag.Owner(lane=64, i="lane")
ROOT = "rsqrt(sum(X[m, h, 0, j] * X[m, h, 0, j] + X[m, h, 1, j] * X[m, h, 1, j], j) / 128 + eps)"
FIRST = f"X[m, h, 0, i] * {ROOT} * W[0, i]"
SECOND = f"X[m, h, 1, i] * {ROOT} * W[1, i]"


@ag.kernel(
    threads=64,
    requires="M >= 1 and H >= 1",
    computes=f"Y[m, h, t, i] = min(max(where(t == 0, {FIRST} * C[m, i] - {SECOND} * S[m, i], "
    f"{SECOND} * C[m, i] + {FIRST} * S[m, i]) * scale, -240), 240)",
    example=dict(M=3, H=2),
)
def rope_norm_quant(
    X: ag.In["M H two=2 i=64", bf16],
    W: ag.In["two=2 i=64", f32],
    C: ag.In["M i=64", f32],
    S: ag.In["M i=64", f32],
    Y: ag.Out["M H two=2 i=64", fp8],
    eps: f32,
    scale: f32,
):
    m, h = ag.grid(M, H)
    a = X[m, h, 0].load(HALF, width=2).to(f32)
    b = X[m, h, 1].load(HALF, width=2).to(f32)
    r = ag.rsqrt((a * a + b * b).sum("i") / 128.0 + eps)
    a = a * r * W[0].load(HALF, width=4)
    b = b * r * W[1].load(HALF, width=4)
    c = C[m].load(HALF, width=4)
    s = S[m].load(HALF, width=4)
    Y[m, h, 0].store(((a * c - b * s) * scale).to(fp8, saturate=True), width=1)
    Y[m, h, 1].store(((b * c + a * s) * scale).to(fp8, saturate=True), width=1)
