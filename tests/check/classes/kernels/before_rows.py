"""Rows before a matrix lie outside of it; columns before a row lie in the row above."""

import argus as ag
from argus import bf16, f32

CASE = ag.knob(0, legal=tuple(range(10)), why="which variant")
KIND = bf16 if CASE in (1, 3) else f32
WIDTH = [4, 8, 16, 2, 4, 4, 4, 4, 4, 4][CASE]
PART = ag.Owner(t=64, e=4, m="t//8", n="t%8*4 + e")


@ag.kernel(
    threads=64,
    requires="N % 32 == 0 and N <= 4096 and M <= 1024",
    computes="y[m, n] = x[m - 2, n]",
    example=dict(M=13, N=64),
)
def before_rows(x: ag.In["M N", KIND], y: ag.Out["M N", KIND]):
    bm, bn = ag.grid(ag.cdiv(M, 8), N // 32)
    row, column = 8 * bm, 32 * bn
    if CASE == 4:
        y[row, column].store(x[row - 1, column].load(PART, width=WIDTH), width=WIDTH)
    elif CASE == 5:
        y[row, column].store(x[row - 2, column - 4].load(PART, width=WIDTH), width=WIDTH)
    elif CASE == 6:
        y[row, column].store(x[row, column - 2 * N].load(PART, width=WIDTH), width=WIDTH)
    elif CASE == 7:
        y[row, column].store(x[ag.max(row - 2, 0), column].load(PART, width=WIDTH), width=WIDTH)
    elif CASE == 8:
        y[row - 2, column].store(x[row - 2, column].load(PART, width=WIDTH), width=WIDTH)
    elif CASE == 9:
        y[row, column].store(x[row - 2, column].load(PART, width=WIDTH, guard=row >= 8), width=WIDTH)
    else:
        y[row, column].store(x[row - 2, column].load(PART, width=WIDTH), width=WIDTH)
