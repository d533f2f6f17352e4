"""A map with broadcast operands in f32: silu(x * factor + shift), both per channel. A lane has one element."""

import argus as ag
from argus import LOG2E, f32

TASK = dict(
    family="elementwise",
    shapes=[dict(A=4, B=64, C=65536)],
    held_out=[dict(A=3, B=16, C=2048), dict(A=1, B=32, C=4096)],
    small=[dict(A=2, B=16, C=1024)],
    library="fused_map",
)

PART = ag.Owner(lane=64, c="lane")
ONE = ag.Owner(lane=64, one="lane*0")


@ag.kernel(
    threads=64,
    requires="C % 64 == 0",
    computes="Y[a, b, c] = (X[a, b, c] * F[b] + S[b]) / (1 + exp(-(X[a, b, c] * F[b] + S[b])))",
    example=dict(A=2, B=3, C=128),
)
def broadcast(X: ag.In["A B C", f32], F: ag.In["B", f32], S: ag.In["B", f32], Y: ag.Out["A B C", f32]):
    a, b, bc = ag.grid(A, B, C // 64)
    factor = F[b].load(ONE, width=4).without()
    shift = S[b].load(ONE, width=4).without()
    x = X[a, b, 64 * bc].load(PART, width=4)
    y = x * factor + shift
    Y[a, b, 64 * bc].store(y * ag.rcp(1.0 + ag.exp2(y * -LOG2E)), width=4)
