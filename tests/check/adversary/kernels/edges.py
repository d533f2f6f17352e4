"""A copy whose threads branch by sizes and by loaded numbers."""

import argus as ag
from argus import f32, i32

CASE = ag.knob(0, legal=tuple(range(6)), why="which variant")

ROW = ag.Owner(lane=64, e=1, m="lane + e")
ONE = ag.Owner(lane=64, e=1, p="lane*0 + e")


@ag.kernel(threads=64, requires="M >= 1 and P >= 1", computes="Y[m] = X[m]", example=dict(M=64, P=3))
def edges(X: ag.In["M", f32], T: ag.In["P", i32], Y: ag.Out["M", f32]):
    b = ag.grid(ag.cdiv(M, 64))
    x = X[64 * b].load(ROW, width=4)
    if CASE == 0:
        Y[64 * b].store(x, width=4)
    elif CASE == 1:
        if ag.lane() + 64 * b >= P:
            Y[64 * b].store(x, width=4)
    elif CASE == 2:
        t = ag.as_index(T[P - 1].load(ONE, width=4), 0, P - 1)
        if t + ag.lane() >= 2:
            Y[64 * b].store(x, width=4)
    elif CASE == 3:
        if ag.lane() + 64 * b < M:
            Y[64 * b].store(x, width=4)
    elif CASE == 4:
        if ag.lane() + 64 * b < M - 1:
            Y[64 * b].store(x, width=4)
    else:
        if ag.lane() + 64 * b >= P:
            Y[64 * b].store(x, width=4)
        else:
            Y[64 * b].store(x, width=4)
