"""Copies through arithmetic that gives the number back, or only some numbers, or only in some launches."""

import argus as ag
from argus import f32, i32

CASE = ag.knob(0, legal=tuple(range(14)), why="which variant")

PART = ag.Owner(t=256, e=4, i="t*4 + e")


@ag.kernel(threads=256, requires="N % 4 == 0 and N >= 4", computes="z[i] = X[i]", example=dict(N=1000))
def factors(X: ag.In["N", f32], y: ag.In["N", f32], z: ag.Out["N", f32]):
    block = ag.grid(ag.cdiv(N, 1024))
    start = 1024 * block
    v = X[start].load(PART, width=16)
    w = y[start].load(PART, width=16)
    r = v
    if CASE == 0:
        r = v * 2.0 * 0.5
    elif CASE == 1:
        r = ag.sqrt(v) * ag.sqrt(v)
    elif CASE == 2:
        r = v * w / w
    elif CASE == 3:
        r = ag.sqrt(v * v)
    elif CASE == 4:
        r = ag.exp2(ag.log2(v))
    elif CASE == 5:
        r = v.to(i32).to(f32)
    elif CASE == 6:
        r = ag.where(v >= 0.0, v, 0.0)
    elif CASE == 7:
        if N == 516:
            r = w
    elif CASE == 8:
        if block == 2:
            r = w
    elif CASE == 9:
        r = v + w - w
    elif CASE == 10:
        r = ag.v_readfirstlane_b32(v)
    elif CASE == 11:
        r = ag.where(v.i % 256 == 255, w, v)
    elif CASE == 12:
        r = ag.v_mov_b32_dpp(v, w, quad_perm=[0, 1, 2, 3], row_mask=7)
    elif CASE == 13:
        r[3] = w[3]
    z[start].store(r, width=16)
