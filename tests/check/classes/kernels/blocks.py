"""Blocks, loops and rows whose byte offset passes 2^31 and 2^32: nothing of them may come back to the start."""

import argus as ag
from argus import bf16, f32, i8, i32

CASE = ag.knob(0, legal=tuple(range(16)), why="which variant")
KIND = bf16 if CASE in (4, 10) else i8 if CASE == 5 else f32
BYTES = KIND.bytes
PART = ag.Owner(t=64, i="t")
ROWS = ag.Owner(t=64, r=16, m="r*64 + t", n="0*t")
FAR = [
    2**29,
    2**30,
    2**29,
    2**28,
    2**30,
    2**31 - 64,
    2**29,
    2**29,
    2**29,
    2**20,
    2**29,
    2**29,
    2**29,
    2**25,
    2**29,
    2**29,
][CASE]
COUNT = [3, 5, 4, 5, 3, 3, 3, 3, 3, 3, 3, 3, 3, 33, 3, 3][CASE]


@ag.kernel(threads=64, requires="N <= 64", computes="y[i] = x[i]", example=dict(N=64))
def blocks(x: ag.In["N", KIND], y: ag.Out["N", KIND]):
    if CASE < 6 or CASE == 13 or CASE == 9:  # block b stores b times a number at FAR * b
        b = ag.grid(COUNT)
        v = x.load(PART, width=BYTES)
        if KIND == i8:
            y[FAR * b].store((v.to(i32) + b).to(i8), width=BYTES)
        else:
            y[FAR * b].store((v.to(f32) + f32(b)).to(KIND), width=BYTES)
    elif CASE == 6:  # two axes
        b, c = ag.grid(2, 3)
        v = x.load(PART, width=BYTES)
        y[FAR * b + FAR * c].store(v + f32(b + c), width=BYTES)
    elif CASE == 7:  # a loop
        ag.grid(1)
        v = x.load(PART, width=BYTES)
        for k in ag.range(COUNT):
            y[FAR * k].store(v + f32(k), width=BYTES)
    elif CASE == 8:  # a loop over blocks
        b = ag.grid(2)
        v = x.load(PART, width=BYTES)
        for k in ag.range(2):
            y[FAR * k + FAR * b].store(v + f32(k + b), width=BYTES)
    elif CASE == 10:  # loads come back
        b = ag.grid(1)
        v = x.load(PART, width=BYTES)
        for k in ag.range(1, 5):
            v = (v.to(f32) + x[FAR * k].load(PART, width=BYTES).to(f32)).to(KIND)
        y.store(v, width=BYTES)
    elif CASE == 11:  # by lane
        ag.grid(1)
        v = x.load(PART, width=BYTES)
        y[(FAR - 1) * (ag.lane() % 4)].store(v * 0.0 + 7.0, width=BYTES, guard=ag.lane() % 4 == 2)
        y.store(v, width=BYTES)
    elif CASE == 12:  # a block and a lane
        b = ag.grid(2)
        v = x.load(PART, width=BYTES)
        y[(FAR + ag.lane() * 0) * b * 2].store(v + f32(b), width=BYTES)
    elif CASE == 14:  # right: guarded
        b = ag.grid(COUNT)
        v = x.load(PART, width=BYTES)
        y[FAR * b].store(v + f32(b), width=BYTES, guard=b == 0)
    else:  # right: the grid follows the size
        b = ag.grid(ag.cdiv(N, 64))
        y[64 * b].store(x[64 * b].load(PART, width=BYTES), width=BYTES)
