"""Elementwise work on vectors: shifts, wrong operands, overlapping blocks."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(14)), why="which variant")

PART = ag.Owner(t=256, e=4, i="t*4 + e")
BACK = ag.Owner(t=256, e=4, i="t*4 + 3 - e")


@ag.kernel(threads=256, requires="N % 4 == 0 and N >= 4", computes="z[i] = x[i] - y[i]", example=dict(N=1000))
def vector(x: ag.In["N", f32], y: ag.In["N", f32], z: ag.Out["N", f32]):
    blocks = N // 1024 + 1 if CASE == 13 else N // 1024 if CASE == 5 else ag.cdiv(N, 1024)
    if CASE in (6, 7):
        blocks = ag.cdiv(N, 2048)
    number = ag.grid(blocks)
    if CASE in (6, 7):
        for turn in ag.range(2):
            start = 2048 * number + (512 if CASE == 7 else 1024) * turn
            z[start].store(x[start].load(PART, width=16) - y[start].load(PART, width=16), width=16)
    else:
        start = number * 1024
        a = x[start + 4 if CASE == 4 else start].load(PART, width=16)
        b = x[start].load(PART, width=16) if CASE == 1 else y[start].load(PART, width=16)
        if CASE == 2:
            a = a.from_lane(ag.lane() ^ 1).held_as(PART)
        if CASE == 3:
            a = a.from_lane(ag.lane() ^ 1).from_lane(ag.lane() ^ 1)
        if CASE == 8:
            r = b - a
        elif CASE == 9:
            r = a - 2.0 * b
        elif CASE == 10:
            r = a
        elif CASE == 11:
            r = -(b - a)
        else:
            r = a - b
        if CASE == 12:
            r = r.held_as(BACK)
        z[start].store(r, width=4 if CASE == 12 else 16)
