"""RMSNorm with a row shared by two waves, whose partial sums meet in LDS."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(9)), why="which variant")

ROW = ag.Owner(t=128, e=4, n="t*4 + e")
PARTS = ag.Layout(w=(2, 4))
PUT = ag.Owner(lane=64, wave=2, w="wave")
GET0 = ag.Owner(lane=64, wave=2, w="wave*0")
GET1 = ag.Owner(lane=64, wave=2, w="wave*0 + 1")


@ag.kernel(
    threads=128,
    requires="M >= 1",
    computes="Y[m, n] = X[m, n] * rsqrt(sum(X[m, j] * X[m, j], j) / 512) * W[n]",
    example=dict(M=2),
)
def rmsnorm(X: ag.In["M n=512", f32], W: ag.In["n=512", f32], Y: ag.Out["M n=512", f32]):
    row = ag.grid(M)
    parts = ag.shared(PARTS, f32)
    x = X[row].load(ROW, width=16)
    square = x if CASE == 3 else x * x
    mine = square.sum("n", within="wave")
    parts.store(mine.held_as(PUT), width=4)
    if CASE != 4:
        ag.barrier()
    first = parts.load(GET0, width=4).without("w")
    second = parts.load(GET0 if CASE == 5 else GET1, width=4).without("w")
    total = first if CASE == 1 else first + second
    if CASE == 8:
        total = total + mine
    scale = ag.rsqrt(total * (1.0 / 256 if CASE == 2 else 1.0 / 512))
    w = W.load(ROW, width=16)
    if CASE == 6:
        y = x * scale
    elif CASE == 7:
        y = x * scale * w * w
    else:
        y = x * scale * w
    Y[row].store(y, width=16)
