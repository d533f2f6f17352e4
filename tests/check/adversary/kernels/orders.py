"""Tiles of 8 x 32 copied, one per workgroup; which one is computed from the number of the workgroup."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(12)), why="which variant")

TILE = ag.Owner(lane=64, e=4, m="lane//8", n="lane%8*4 + e")


@ag.kernel(threads=64, requires="M % 8 == 0 and N % 32 == 0", computes="y[m, n] = x[m, n]", example=dict(M=16, N=64))
def copy(x: ag.In["M N", f32], y: ag.Out["M N", f32]):
    rows, columns = M // 8, N // 32
    total = rows * columns
    number = ag.grid(total)
    if CASE < 4:
        chiplet, turn = (number // 8, number % 8) if CASE == 3 else (number % 8, number // 8)
        share = total // 8
        more = 0 if CASE == 1 else ag.min(chiplet, share if CASE == 2 else total % 8)
        number = chiplet * share + more + turn
        bm, bn = number // columns, number % columns
    elif CASE < 7:
        group = number // (3 * columns)
        inside = number % (3 * columns)
        here = 3 if CASE == 5 else ag.min(3, rows - 3 * group)
        bm, bn = (2 if CASE == 6 else 3) * group + inside % here, inside // here
    elif CASE < 9:
        bm, bn = (rows - 1 if CASE == 7 else rows) - number // columns, number % columns
    elif CASE < 11:
        bm, bn = number // columns, number % columns
        bn = bn if bm % 2 == 0 else (columns - 1 if CASE == 9 else columns) - bn
    else:
        bm, bn = number // rows, number % columns
    y[8 * bm, 32 * bn].store(x[8 * bm, 32 * bn].load(TILE, width=16), width=16)
