# ruff: noqa: E501
"""RMSNorm: Y = X * rsqrt(mean(X^2) + eps) * W. One wave per row; a lane holds 8 neighbouring elements of every 512."""

import argus as ag
from argus import bf16, f32

D = 2048
ROW = ag.Owner(lane=64, p=D // 512, e=8, d="p*512 + lane*8 + e")


@ag.kernel(
    threads=256,
    requires="T % 4 == 0",
    computes="Y[t, d] = X[t, d] * rsqrt(sum(X[t, k] * X[t, k], k) / 2048 + eps) * W[d]",
    example=dict(T=8),
)
def rmsnorm(X: ag.In[f"T Dim={D}", bf16], W: ag.In[f"Dim={D}", bf16], Y: ag.Out[f"T Dim={D}", bf16], eps: f32):
    row = 4 * ag.grid(T // 4) + ag.wave()
    x = X[row].load(ROW, width=16).to(f32)
    mean = (x * x).sum("d") * (1.0 / D)
    y = x * ag.rsqrt(mean + eps) * W.load(ROW, width=16).to(f32)
    Y[row].store(y.to(bf16), width=16)
