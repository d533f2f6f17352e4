"""Rows past the last one of a wide matrix: their byte offset may pass 2^32."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(4)), why="which variant")
ROWS = ag.Owner(t=64, r=8, m="r*64 + t", n="0*t")
MOST = " and N <= 1048576" if CASE == 1 else " and M % 512 == 0" if CASE == 3 else ""
EXAMPLE = 512 if CASE == 3 else 1


@ag.kernel(threads=64, requires="N >= 1" + MOST, computes="y[m, n] = x[m, n]", example=dict(M=EXAMPLE, N=4))
def tall(x: ag.In["M N", f32], y: ag.Out["M N", f32]):
    b, c = ag.grid(ag.cdiv(M, 512), N)
    if CASE == 2:
        v = x[512 * b, c].load(ROWS, width=4, guard=lambda m, n: 512 * b + m < M)
        y[512 * b, c].store(v, width=4, guard=lambda m, n: 512 * b + m < M)
    else:
        y[512 * b, c].store(x[512 * b, c].load(ROWS, width=4), width=4)
