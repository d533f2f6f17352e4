"""What lies past the end of a tensor of narrow elements must not reach a sum, a maximum or a neighbour."""

import argus as ag
from argus import bf16, f16, f32, i8, i32

CASE = ag.knob(0, legal=tuple(range(12)), why="which variant")
KIND = [bf16, bf16, bf16, f16, i8, i8, i8, bf16, i8, bf16, bf16, bf16][CASE]
WIDTH = [16, 8, 4, 16, 16, 8, 4, 2, 1, 16, 16, 16][CASE]
WIDE = i32 if KIND == i8 else f32
PART = ag.Owner(t=64, e=16, i="t*16 + e")


@ag.kernel(threads=64, requires="N <= 1024", computes="y[r] = sum(x[k], k)", example=dict(N=255))
def tail_sums(x: ag.In["N", KIND], y: ag.Out["r=1", WIDE]):
    ag.grid(1)
    v = x.load(PART, width=WIDTH).to(WIDE)
    y.store(v.sum("i"), width=4, guard=ag.lane() == 0)
