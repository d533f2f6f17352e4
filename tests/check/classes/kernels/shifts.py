"""Shifts by a size: the machine takes the amount modulo 32, numbers do not. On paper all of them copy."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(18)), why="which variant")
PART = ag.Owner(t=64, i="t")
MOST = 31 if CASE in (12, 13) else 20 if CASE == 15 else 70


@ag.kernel(threads=64, requires=f"N <= 64 and S >= 7 and S <= {MOST}", computes="y[i] = x[i]", example=dict(N=64, S=20))
def shifts(x: ag.In["N", f32], size: ag.In["S", f32], y: ag.Out["N", f32]):
    b = ag.grid(1)
    lane = ag.lane()
    v = x.load(PART, width=4)
    if CASE == 0:  # a guard
        y.store(v, width=4, guard=(N >> S) == 0)
    elif CASE == 1:  # an address
        y[lane + (N >> S)].store(v.without(), width=4)
    elif CASE == 2:
        y[lane + (lane >> S)].store(v.without(), width=4)
    elif CASE == 3:  # a branch
        if (N >> S) == 0:
            y.store(v, width=4)
    elif CASE == 4:  # the end of a loop
        for k in ag.range((N >> S) + 1):
            y[lane + 64 * k].store(v.without(), width=4)
    elif CASE == 5:  # a number as data
        y.store(v + f32(N >> S), width=4)
    elif CASE == 6:
        y.store(v * f32(1 + (lane >> S)), width=4)
    elif CASE == 7:  # to the left, in a comparison
        y.store(v, width=4, guard=(1 << S) >= 128)
    elif CASE == 8:  # under a minimum
        y[ag.min(lane, 1 << S)].store(v.without(), width=4)
    elif CASE == 9:  # the low bits
        y.store(v + f32((1 << S) & 1), width=4)
    elif CASE == 10:
        y[lane + ((1 << S) & 64)].store(v.without(), width=4)
    elif CASE == 11:  # an amount below zero
        y.store(v, width=4, guard=(N >> (S - 40)) >= 0)
    elif CASE == 12:  # right: the amount is below 32
        y.store(v, width=4, guard=(N >> S) >= 0)
    elif CASE == 13:  # the amount is right, the result is not
        y.store(v, width=4, guard=ag.min(64 << S, N) > 0)
    elif CASE == 14:  # a half of the size
        y[lane + (lane >> (S // 2 + 3))].store(v.without(), width=4)
    elif CASE == 15:  # right: both fit
        y.store(v, width=4, guard=ag.min(64 << S, N) > 0)
    elif CASE == 16:  # a block shifted
        y[lane + (b >> S)].store(v.without(), width=4)
    else:  # an amount that differs between lanes
        y[lane + (lane >> (S + lane))].store(v.without(), width=4)
