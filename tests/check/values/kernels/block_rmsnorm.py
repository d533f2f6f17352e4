# ruff: noqa: E501
"""RMSNorm with one workgroup of four waves per row: partial sums meet in LDS."""

import argus as ag
from argus import f32

D = 4096
ROW = ag.Owner(t=256, p=D // 1024, e=4, d="p*1024 + t*4 + e")
SUMS = ag.Layout(w=(4, 4))
EACH = ag.Owner(t=256, w="t%4")


@ag.kernel(
    threads=256,
    computes="Y[t, d] = X[t, d] * rsqrt(sum(X[t, k] * X[t, k], k) / 4096 + eps)",
    example=dict(T=8),
)
def rms(X: ag.In[f"T Dim={D}", f32], Y: ag.Out[f"T Dim={D}", f32], eps: f32):
    row = ag.grid(T)
    x = X[row].load(ROW, width=16)
    mine = (x * x).sum("d", within="wave")
    s = ag.shared(SUMS, f32)
    s.store(mine, w=ag.wave(), width=4, guard=ag.lane() == 0)
    ag.barrier()
    total = s.load(EACH, width=4).sum("w")
    Y[row].store(x * ag.rsqrt(total * (1.0 / D) + eps), width=16)
