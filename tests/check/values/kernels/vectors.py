# ruff: noqa: E501
"""z = x + y * a, elementwise with a number."""

import argus as ag
from argus import f32

PART = ag.Owner(t=256, e=4, i="t*4 + e")


@ag.kernel(threads=256, requires="N % 4 == 0", computes="z[i] = x[i] + y[i] * a", example=dict(N=4096))
def axpy(x: ag.In["N", f32], y: ag.In["N", f32], z: ag.Out["N", f32], a: f32):
    start = 1024 * ag.grid(ag.cdiv(N, 1024))
    p = x[start].load(PART, width=16)
    q = y[start].load(PART, width=16)
    z[start].store(p + q * a, width=16)
