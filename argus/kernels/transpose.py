"""Transposition: Y[n, m] = X[m, n] for 4-byte and 2-byte elements, through registers only.

A lane loads a block of E x E elements (16 bytes from each of E rows), turns it in its registers and stores 16 bytes to
each of E rows of Y. Lanes stand 8 x 8, so that every access touches whole lines of 128 bytes, in X and in Y alike.
"""

import argus as ag
from argus import bf16, f16, f32

DTYPE = ag.knob("bf16", legal=("f32", "bf16", "f16"), why="element type; only its size matters")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access; rows of X and Y must be multiples of it")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
E = 16 // SIZE
SIDE = 8 * E  # a wave's square; four waves lie along N
BLOCK = ag.Owner(lane=64, i=E, e=E, m=f"lane//8*{E} + i", n=f"lane%8*{E} + e")


@ag.kernel(
    threads=256,
    requires=f"M >= 1 and N >= 1 and M % {WIDTH // SIZE} == 0 and N % {WIDTH // SIZE} == 0",
    computes="Y[n, m] = X[m, n]",
    example=dict(M=96, N=200),
)
def transpose(X: ag.In["M N", T], Y: ag.Out["N M", T]):
    bm, bn = ag.grid(ag.cdiv(M, SIDE), ag.cdiv(N, 4 * SIDE))
    row, column = SIDE * bm, 4 * SIDE * bn + SIDE * ag.wave()
    block = X[row, column].load(BLOCK, width=WIDTH, guard="shape")
    Y[column, row].store(block.order("e", "i"), width=WIDTH, guard="shape")
