"""y = x on bf16 vectors of any length: the last dword of a tensor may be half inside."""

import argus as ag
from argus import bf16

PART = ag.Owner(t=64, e=8, i="t*8 + e")


@ag.kernel(threads=64, computes="y[i] = x[i]", example=dict(N=1021))
def edge(x: ag.In["N", bf16], y: ag.Out["N", bf16]):
    b = ag.grid(ag.cdiv(N, 512))
    y[512 * b].store(x[512 * b].load(PART, width=16), width=16)
