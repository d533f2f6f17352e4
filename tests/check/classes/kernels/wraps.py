"""Index arithmetic that leaves 32 bits: in addresses, in comparisons, before a minimum or a division."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(22)), why="which variant")
PART = ag.Owner(t=64, i="t")
BIG = 2147483647


@ag.kernel(
    threads=64,
    requires="N <= 64 and S <= 100000 and T <= 100000",
    computes="y[i] = x[i]",
    example=dict(N=64, S=100000, T=100000),
)
def wraps(x: ag.In["N", f32], s: ag.In["S", f32], t: ag.In["T", f32], y: ag.Out["N", f32]):
    b = ag.grid(1)
    lane = ag.lane()
    v = x.load(PART, width=4)
    p = S * T
    if CASE == 0:  # a product under a minimum
        y[lane + ag.min(p, 0)].store(v.without(), width=4)
    elif CASE == 1:
        y[lane + ag.min(p * 2, 0)].store(v.without(), width=4)
    elif CASE == 2:
        y[ag.min(lane, p * 3)].store(v.without(), width=4)
    elif CASE == 3:  # under a maximum
        y[ag.max(lane, lane - p)].store(v.without(), width=4)
    elif CASE == 4:  # under a division
        y[lane + p // BIG // 100].store(v.without(), width=4)
    elif CASE == 5:  # under a remainder
        y[lane + p * 0 + (p - p % 1 * 0 - p)].store(v.without(), width=4)
    elif CASE == 6:
        y[lane + (p % 3) * 0].store(v.without(), width=4)
    elif CASE == 7:  # an address that wraps back
        y[lane + p * 1024].store(v.without(), width=4)
        y.store(v, width=4)
    elif CASE == 8:  # it wraps onto another element
        y[lane + 1073741824].store((v + 1.0).without(), width=4)
        y.store(v, width=4, guard=lane >= 0)
    elif CASE == 9:
        y.store(v, width=4)
        y[lane + 1073741824 * (1 + b)].store((v + 1.0).without(), width=4)
    elif CASE == 10:
        y.store(v, width=4)
        y[lane + 1073741824 + b].store((v + 1.0).without(), width=4)
    elif CASE == 11:
        y.store(v, width=4)
        y[lane + 65536 * S].store((v + 1.0).without(), width=4)
    elif CASE == 12:  # a negative address
        y.store(v, width=4)
        y[lane - 1073741824 * 2 - 64].store((v + 1.0).without(), width=4, guard=S > 99999)
    elif CASE == 13:  # a comparison rearranged in a loop
        for k in ag.range(1):
            y.store(v, width=4, guard=BIG - S - k > 64 - BIG + T)
    elif CASE == 14:
        for k in ag.range(1):
            if k - BIG + S < BIG - T:
                y.store(v, width=4)
    elif CASE == 15:
        for k in ag.range(1):
            y.store(v, width=4, guard=lane - BIG + S < BIG - T - k)
    elif CASE == 16:
        for k in ag.range(1):
            y.store(v, width=4, guard=lane - k * 64 - BIG + 64 <= BIG - S)
    elif CASE == 17:  # a load that wraps
        w = x[lane + 1073741824 + b].load(ag.Owner(t=64, e=1, i="e"), width=4)
        y.store(v + w.without(), width=4)
    elif CASE == 18:  # right: a product that fits
        y[lane + ag.min(S * 100, 0)].store(v.without(), width=4)
    elif CASE == 19:  # right: a comparison in a loop that fits on both sides of any order
        for k in ag.range(1):
            y.store(v, width=4, guard=k - S < 1000000 - T)
    elif CASE == 20:  # right: past the end, but not far
        y.store(v, width=4)
        y[lane + 4096 * S].store((v + 1.0).without(), width=4)
    else:  # a condition of a product
        if p > 0:
            y.store(v, width=4)
