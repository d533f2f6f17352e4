"""Values for places past the end, chosen by a branch: the right one first, then wrong ones."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(4)), why="which variant")

ROW = ag.Owner(t=64, c="t")


@ag.kernel(threads=64, computes="y[n, c] = x[n, c]", example=dict(N=70))
def edges(x: ag.In["N c=64", f32], y: ag.Out["N c=64", f32]):
    b = ag.grid(8)
    for r in ag.range(0, N, 8):
        if CASE == 0:
            if r + b < N:
                v = x[r + b].load(ROW, width=4)
            else:
                v = ag.full(ROW, f32, 3.0)
        elif CASE == 1:  # wrong: one too early
            if r + b + 1 < N:
                v = x[r + b].load(ROW, width=4)
            else:
                v = ag.zeros(ROW, f32)
        elif CASE == 2:  # wrong: sides
            if r + b < N:
                v = ag.zeros(ROW, f32)
            else:
                v = x[r + b].load(ROW, width=4)
        elif CASE == 3:  # wrong: by the turn
            if r < N - 7:
                v = x[r + b].load(ROW, width=4)
            else:
                v = ag.zeros(ROW, f32)
        y[r + b].store(v, width=4)
