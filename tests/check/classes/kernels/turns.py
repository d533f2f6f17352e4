"""Persistent loops whose turn is a tile's row and column: every tile once, or some twice, or some never."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(16)), why="which variant")
TILE = ag.Owner(lane=64, e=4, m="lane//8", n="lane%8*4 + e")
BLOCKS = 4 if CASE in (2, 10) else 8
STEP = 9 if CASE == 8 else 7 if CASE == 9 else 8 if CASE == 10 else BLOCKS


@ag.kernel(threads=64, requires="M % 8 == 0 and N % 32 == 0", example=dict(M=16, N=64), computes="y[m, n] = x[m, n]")
def turns(x: ag.In["M N", f32], y: ag.Out["M N", f32]):
    b = ag.grid(BLOCKS)
    rows, columns = M // 8, N // 32
    first = b + 1 if CASE == 6 else 0 if CASE == 11 else b
    last = rows * columns - 1 if CASE == 7 else rows * columns + columns if CASE == 3 else rows * columns
    for t in ag.range(first, last, STEP):
        bm, bn = t // columns, t % columns
        if CASE == 1:
            bm, bn = t % rows, t // rows
        elif CASE == 4:
            bm, bn = rows - 1 - t // columns, t % columns
        elif CASE == 5:
            group = t // (4 * columns)
            here = ag.min(4, rows - 4 * group)
            bm, bn = 4 * group + t % (4 * columns) % here, t % (4 * columns) // here
        elif CASE == 12:
            bm, bn = t // rows, t % columns
        elif CASE == 13:
            bm, bn = t // columns, t % rows
        elif CASE == 14:
            bm, bn = t // columns, (t + b) % columns
        elif CASE == 15:
            bm, bn = (t - b) // columns, t % columns
        y[8 * bm, 32 * bn].store(x[8 * bm, 32 * bn].load(TILE, width=16), width=16)
