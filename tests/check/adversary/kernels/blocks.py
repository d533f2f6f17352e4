"""Workgroups numbered by hand: every tile once, or some twice and others never."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(12)), why="which variant")

PART = ag.Owner(t=256, e=1, i="t + e")


@ag.kernel(threads=256, requires="N % 256 == 0 and N >= 256", computes="z[i] = x[i]", example=dict(N=1024))
def blocks(x: ag.In["N", f32], z: ag.Out["N", f32]):
    n = N // 256
    if CASE == 10:
        b = ag.grid(n, order=ag.xcd(8))
    elif CASE in (8, 9):
        b = ag.grid(4)
    else:
        b = ag.grid(n)
    if CASE == 0:
        b = (b + 1) % n
    elif CASE == 1:
        b = b % 8 * ag.cdiv(n, 8) + b // 8
    elif CASE == 2:
        b = b % 8
    elif CASE == 3:
        b = (b - 1) % ag.max(n - 1, 1)
    elif CASE == 4:
        b = b ^ 1
    elif CASE == 5:
        b = n - 1 - b
    elif CASE == 6:
        b = ag.min(b, 7)
    elif CASE == 7:
        b = b // 2 * 2
    if CASE in (8, 9):
        for i in ag.range(n // 4 if CASE == 9 else ag.cdiv(n, 4)):
            place = (b + 4 * i) * 256
            z[place].store(x[place].load(PART, width=4), width=4)
    elif CASE == 11:
        z[256 * b].store(x[256 * b].load(PART, width=4), width=4)
        z[256 * (b // 9 * 9)].store(x[256 * (b // 9 * 9)].load(PART, width=4), width=4, guard=b == 9)
    else:
        z[256 * b].store(x[256 * b].load(PART, width=4), width=4)
