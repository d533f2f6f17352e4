"""Integers that pass through a type with fewer of them."""

import argus as ag
from argus import f32, i8, i16, i32, u8

CASE = ag.knob(0, legal=tuple(range(10)), why="which variant")

PART = ag.Owner(t=256, e=4, i="t*4 + e")


@ag.kernel(threads=256, requires="N % 4 == 0 and N >= 4", computes="z[i] = x[i] * 64", example=dict(N=1000))
def narrow(x: ag.In["N", i8], z: ag.Out["N", i32]):
    start = 1024 * ag.grid(ag.cdiv(N, 1024))
    v = x[start].load(PART, width=4)
    wide = v.to(i32) * 64
    if CASE == 1:
        wide = (v * 64).to(i32)
    elif CASE == 2:
        wide = (v << 6).to(i32)
    elif CASE == 3:
        wide = v.to(i32) << 6
    elif CASE == 4:
        wide = wide.to(i8).to(i32)
    elif CASE == 5:
        wide = wide.to(i8, saturate=True).to(i32)
    elif CASE == 6:
        wide = wide.to(u8).to(i32)
    elif CASE == 7:
        wide = wide.to(i16).to(i32)
    elif CASE == 8:
        wide = v.bitcast(u8).to(i32) * 64
    elif CASE == 9:
        wide = (v.to(f32) * 64.0).to(i32)
    z[start].store(wide, width=16)
