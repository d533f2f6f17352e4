# ruff: noqa: E501
"""Layer norm: one wave per row of 1024."""

import argus as ag
from argus import f32

D = 1024
ROW = ag.Owner(lane=64, p=D // 256, e=4, d="p*256 + lane*4 + e")


@ag.kernel(
    threads=256,
    requires="T % 4 == 0",
    computes="Y[t, d] = (X[t, d] - sum(X[t, k], k) / 1024) * rsqrt(sum((X[t, k] - sum(X[t, j], j) / 1024) * (X[t, k] - sum(X[t, j], j) / 1024), k) / 1024 + eps) * W[d] + B[d]",
    example=dict(T=8),
)
def layernorm(
    X: ag.In[f"T Dim={D}", f32],
    W: ag.In[f"Dim={D}", f32],
    B: ag.In[f"Dim={D}", f32],
    Y: ag.Out[f"T Dim={D}", f32],
    eps: f32,
):
    row = 4 * ag.grid(T // 4) + ag.wave()
    x = X[row].load(ROW, width=16)
    mean = x.sum("d") * (1.0 / D)
    c = x - mean
    var = (c * c).sum("d") * (1.0 / D)
    Y[row].store(c * ag.rsqrt(var + eps) * W.load(ROW, width=16) + B.load(ROW, width=16), width=16)
