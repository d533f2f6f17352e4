"""Reductions over a stated range, `sum(x, k, 4)`: right ones first, then wrong ones."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(12)), why="which variant")

ONE = ag.Owner(t=256, i="t")
FOUR = ag.Owner(t=256, e=4, k="e", i="t")
TILE = ag.Layout(i=(256, 4), k=(4, 1024))


@ag.kernel(threads=256, requires="N >= 1", computes="y[i] = sum(x[i, k], k, 4)", example=dict(N=1000))
def stated_sums(x: ag.In["N C=4", f32], y: ag.Out["N", f32]):
    start = 256 * ag.grid(ag.cdiv(N, 256))
    row = ag.Owner(t=256, e=4, i="t", k="e")
    if CASE == 0:  # right: four columns in one load
        y[start].store(x[start].load(row, width=16).sum("k"), width=4)
    elif CASE == 1:  # right: four loads
        total = ag.zeros(ONE, f32)
        for k in ag.unroll(4):
            total = total + x[start, k].load(ag.Owner(t=256, i="t", k="t*0"), width=4).without("k")
        y[start].store(total, width=4)
    elif CASE == 2:  # right: a loop in the machine code
        total = ag.zeros(ONE, f32)
        for k in ag.range(4):
            total = total + x[start, k].load(ag.Owner(t=256, i="t", k="t*0"), width=4).without("k")
        y[start].store(total, width=4)
    elif CASE == 3:  # wrong: three columns
        total = ag.zeros(ONE, f32)
        for k in ag.unroll(3):
            total = total + x[start, k].load(ag.Owner(t=256, i="t", k="t*0"), width=4).without("k")
        y[start].store(total, width=4)
    elif CASE == 4:  # wrong: the first column twice
        total = ag.zeros(ONE, f32)
        for k in ag.unroll(4):
            total = total + x[start, ag.max(k - 1, 0)].load(ag.Owner(t=256, i="t", k="t*0"), width=4).without("k")
        y[start].store(total, width=4)
    elif CASE == 5:  # wrong: the next row
        y[start].store(x[start + 1].load(row, width=16).sum("k"), width=4)
    elif CASE == 6:  # wrong: the maximum
        y[start].store(x[start].load(row, width=16).max("k"), width=4)
    elif CASE == 7:  # wrong: one column weighs twice
        v = x[start].load(row, width=16)
        y[start].store(v.sum("k") + v[3].without("k"), width=4)
    elif CASE == 8:  # wrong: a loop of five
        total = ag.zeros(ONE, f32)
        for k in ag.range(5):
            total = total + x[start, k].load(ag.Owner(t=256, i="t", k="t*0"), width=4).without("k")
        y[start].store(total, width=4)
    elif CASE == 9:  # wrong: divided
        y[start].store(x[start].load(row, width=16).sum("k") * 0.25, width=4)
    elif CASE == 10:  # right: added by hand
        v = x[start].load(row, width=16)
        y[start].store(v[0].without("k") + v[1].without("k") + (v[2].without("k") + v[3].without("k")), width=4)
    else:  # wrong: the loop starts at 1
        total = ag.zeros(ONE, f32)
        for k in ag.range(1, 4):
            total = total + x[start, k].load(ag.Owner(t=256, i="t", k="t*0"), width=4).without("k")
        y[start].store(total, width=4)
