"""Index arithmetic that leaves 32 bits: in addresses, in comparisons, before a minimum or a division. On paper all of
them copy. The strides sA and sB are free numbers: their tensors have one row."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(24)), why="which variant")
PART = ag.Owner(t=64, i="t")
SMALL = CASE in (18, 19, 20)
MOST = 10000 if SMALL else 2147483647


@ag.kernel(
    threads=64,
    requires=f"N <= 64 and sA <= {MOST} and sB <= sA and M <= 1",
    computes="y[i] = x[i]",
    example=dict(N=64, M=1, sA=1000, sB=1000),
)
def wraps(x: ag.In["N", f32], a: ag.In["M k=1", f32, "sA 1"], c: ag.In["M k=1", f32, "sB 1"], y: ag.Out["N", f32]):
    ag.grid(1)
    lane = ag.lane()
    v = x.load(PART, width=4)
    p = sA * sB
    if CASE == 0:  # a product compared
        y.store(v, width=4, guard=sA * sB >= sB * sB)
    elif CASE == 1:  # a multiple compared
        y.store(v, width=4, guard=sA * 2 >= sB)
    elif CASE == 2:  # a sum under a minimum, in an address
        y[ag.min(lane, sA * 4 - sB * 4 + lane)].store(v.without(), width=4)
    elif CASE == 3:  # under a maximum
        y[ag.max(sB * 2 - sA * 2, 0) + lane].store(v.without(), width=4)
    elif CASE == 4:  # a division
        y[lane + (sB * 4) // (sA * 4 + 1)].store(v.without(), width=4)
    elif CASE == 5:  # a choice
        y[lane + (0 if sA * 3 >= sB else 1)].store(v.without(), width=4)
    elif CASE == 6:  # a product under a minimum
        y[ag.min(p - sB * sB, 0) + lane].store(v.without(), width=4)
    elif CASE == 7:  # an address far past the end
        y[lane + p * 64].store((v + 1.0).without(), width=4)
        y.store(v, width=4)
    elif CASE == 8:
        y[lane + 1073741824].store((v + 1.0).without(), width=4)
        y.store(v, width=4)
    elif CASE == 9:  # by lane
        y.store(v, width=4)
        y[lane * sA + 64].store((v + 1.0).without(), width=4)
    elif CASE == 10:
        y.store(v, width=4)
        y[64 + (lane + 1) * 16777216 * 4].store((v + 1.0).without(), width=4)
    elif CASE == 11:
        y.store(v, width=4)
        y[64 * sA + lane].store((v + 1.0).without(), width=4)
    elif CASE == 12:  # below zero
        y.store(v, width=4)
        y[lane - 64 * sA].store((v + 1.0).without(), width=4, guard=sA > 1)
    elif CASE == 13:  # a comparison moved in a loop: both sides fit, their difference does not
        for k in ag.range(1):
            y.store(v, width=4, guard=k + sB - sA <= sA - sB)
    elif CASE == 14:
        for k in ag.range(1):
            if k + sB - sA <= sA - sB:
                y.store(v, width=4)
    elif CASE == 15:
        for k in ag.range(1):
            y.store(v, width=4, guard=lane + k + sB - sA <= sA - sB + 63)
    elif CASE == 16:
        for k in ag.range(1):
            y.store(v, width=4, guard=sB - sA <= sA - sB - k)
    elif CASE == 17:  # a load that comes back
        w = x[lane * sA + 64].load(ag.Owner(t=64, e=1, i="e"), width=4)
        y.store(v + w.without(), width=4)
    elif CASE == 18:  # right: a product that fits
        if sA * sB >= sB:
            y.store(v, width=4)
    elif CASE == 19:  # right: a comparison in a loop that fits on both sides of any order
        for k in ag.range(1):
            if k + sB - sA <= sA - sB:
                y.store(v, width=4)
    elif CASE == 20:  # right: a multiple compared
        if sA * 2 >= sB:
            y.store(v, width=4)
    elif CASE == 21:  # a multiple decides a branch
        if sA * 2 >= sB:
            y.store(v, width=4)
    elif CASE == 22:  # a number as data
        y.store(v + f32(ag.min(sA * 2 - sB, 0)), width=4)
    else:  # the end of a loop
        for k in ag.range(ag.min(sA * 2 - sB, 1)):
            y.store(v, width=4)
