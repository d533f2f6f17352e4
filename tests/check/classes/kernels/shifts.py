"""Shifts by a size: the machine takes the amount modulo 32, numbers do not."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(16)), why="which variant")
PART = ag.Owner(t=64, i="t")
MOST = " and S <= 31" if CASE in (12, 13) else " and S <= 20" if CASE == 15 else ""
EXAMPLE = 20 if CASE == 15 else 31


@ag.kernel(threads=64, requires="N <= 64 and S <= 70" + MOST, computes="y[i] = x[i]", example=dict(N=64, S=EXAMPLE))
def shifts(x: ag.In["N", f32], size: ag.In["S", f32], y: ag.Out["N", f32]):
    b = ag.grid(1)
    lane = ag.lane()
    v = x.load(PART, width=4)
    if CASE == 0:  # a guard that only large shifts make false
        y.store(v, width=4, guard=(N >> S) == 0)
    elif CASE == 1:
        y.store(v, width=4, guard=(N >> S) >= 0)
    elif CASE == 2:  # an address
        y[lane >> S].store(v.without(), width=4, guard=lane < 1)
        y.store(v, width=4, guard=lane >= 1)
    elif CASE == 3:
        y[(lane + b) >> S].store(v.without(), width=4)
    elif CASE == 4:  # a branch
        if (N >> S) == 0:
            y.store(v, width=4)
        else:
            y.store(v, width=4)
    elif CASE == 5:
        if (N >> S) == 0:
            y.store(v, width=4)
    elif CASE == 6:  # the end of a loop
        for k in ag.range(ag.max(1 + (N >> S) - N, 1)):
            y.store(v, width=4)
    elif CASE == 7:
        for k in ag.range((64 >> S) + 1):
            y.store(v + f32(k), width=4)
    elif CASE == 8:  # a number as data
        y.store(v + f32(N >> S), width=4)
    elif CASE == 9:
        y.store(v * f32(1 + (lane >> S)), width=4)
    elif CASE == 10:  # a shift to the left inside a comparison
        y.store(v, width=4, guard=(1 << S) > 0)
    elif CASE == 11:  # the low bits of a shift to the left
        y.store(v + f32((1 << S) & 1), width=4)
    elif CASE == 12:  # right: the amount is below 32
        y.store(v, width=4, guard=(N >> S) >= 0)
    elif CASE == 13:  # the amount is right, the result is not
        y.store(v, width=4, guard=(64 << S) > 0)
    elif CASE == 14:  # an amount below zero
        y.store(v, width=4, guard=(N >> (S - 40)) >= 0)
    else:  # right: both fit
        y.store(v, width=4, guard=(64 << S) > 0)
