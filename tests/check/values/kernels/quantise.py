"""Two results of one kernel: the scale of a block of 128, and its elements over that scale."""

import argus as ag
from argus import bf16, f32, fp8

PART = ag.Owner(t=256, e=8, b="t//16", j="t%16*8 + e")


@ag.kernel(
    threads=256,
    requires="B >= 1",
    computes="s[b] = maximum(max(abs(H[b, i]), i), 1e-30) / 240;"
    "Q[b, j] = H[b, j] / (maximum(max(abs(H[b, i]), i), 1e-30) / 240)",
    example=dict(B=100),
)
def quantise(H: ag.In["B j=128", bf16], Q: ag.Out["B j=128", fp8], s: ag.Out["B", f32]):
    start = 16 * ag.grid(ag.cdiv(B, 16))
    x = H[start].load(PART, width=16).to(f32)
    largest = ag.max(ag.abs(x).max("j"), 1e-30)
    Q[start].store((x * (240.0 * ag.rcp(largest))).to(fp8), width=8)
    s[start].store(largest * (1.0 / 240.0), width=4, guard=ag.thread() % 16 == 0)
