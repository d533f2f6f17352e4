"""Quantise rows of bf16 to fp8 with one scale per row: scale = max |x| / 240 (the largest fp8 number)."""

import argus as ag
from argus import bf16, f32, fp8

N = 4096
ROW = ag.Owner(t=256, p=2, e=8, n="p*2048 + t*8 + e")
PARTS = ag.Layout(w=(4, 4))
EACH = ag.Owner(t=256, w="t%4")


@ag.kernel(threads=256, example=dict(M=8))
def quantise(X: ag.In[f"M n={N}", bf16], Y: ag.Out[f"M n={N}", fp8], scales: ag.Out["M", f32]):
    row = ag.grid(M)
    x = X[row].load(ROW, width=16).to(f32)
    # A row is spread over four waves: each reduces its own part, the parts meet in LDS.
    parts = ag.shared(PARTS, f32)
    mine = abs(x).max("n", within="wave")
    parts.store(mine, w=ag.wave(), width=4, guard=ag.lane() == 0)
    ag.barrier()
    top = parts.load(EACH, width=4).max("w")
    scale = ag.max(top, 1e-12) * (1.0 / 240.0)
    Y[row].store((x * ag.rcp(scale)).to(fp8, saturate=True), width=8)
    scales[row].store(scale, width=4, guard=ag.thread() == 0)
