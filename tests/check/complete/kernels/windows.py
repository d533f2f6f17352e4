"""Sums over windows, `sum(x[i + k], k, 4)`, and other neighbors: right ones first, then wrong ones."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(16)), why="which variant")

ONE = ag.Owner(t=256, i="t")
FOUR = ag.Owner(t=256, e=4, i="t*4 + e")
LINE = ag.Layout(i=(512, 4))


@ag.kernel(threads=256, requires="N >= 1", computes="y[i] = sum(x[i + k], k, 4)", example=dict(N=1000))
def windows(x: ag.In["N", f32], y: ag.Out["N", f32]):
    if CASE == 1 or CASE == 10:
        start = 1024 * ag.grid(ag.cdiv(N, 1024))
    else:
        start = 256 * ag.grid(ag.cdiv(N, 256))
    line = ag.shared(LINE, f32)
    if CASE == 0:  # right: unrolled
        total = x[start].load(ONE, width=4)
        for k in range(1, 4):
            total = total + x[start + k].load(ONE, width=4)
        y[start].store(total, width=4)
    elif CASE == 1:  # right: four elements a thread
        total = x[start].load(FOUR, width=16)
        for k in range(1, 4):
            total = total + x[start + k].load(FOUR, width=4)
        y[start].store(total, width=16)
    elif CASE == 2:  # right: from the far end
        total = x[start + 3].load(ONE, width=4) + x[start + 2].load(ONE, width=4)
        total = total + (x[start].load(ONE, width=4) + x[start + 1].load(ONE, width=4))
        y[start].store(total, width=4)
    elif CASE == 3:  # right: a line and its edge in LDS
        line.store(x[start].load(ONE, width=4), width=4)
        line.store(x[start + 256].load(ONE, width=4), i=("i", 256), width=4)
        ag.barrier()
        total = line.load(ONE, width=4)
        for k in range(1, 4):
            total = total + line.load(ONE, i=k, width=4)
        y[start].store(total, width=4)
    elif CASE == 4:  # right: zeros first
        total = ag.zeros(ONE, f32)
        for k in range(4):
            total = total + x[start + k].load(ONE, width=4)
        y[start].store(total, width=4)
    elif CASE == 5:  # wrong: three of four
        total = x[start].load(ONE, width=4)
        for k in range(1, 3):
            total = total + x[start + k].load(ONE, width=4)
        y[start].store(total, width=4)
    elif CASE == 6:  # wrong: five
        total = x[start].load(ONE, width=4)
        for k in range(1, 5):
            total = total + x[start + k].load(ONE, width=4)
        y[start].store(total, width=4)
    elif CASE == 7:  # wrong: the window is one late
        total = x[start + 1].load(ONE, width=4)
        for k in range(2, 5):
            total = total + x[start + k].load(ONE, width=4)
        y[start].store(total, width=4)
    elif CASE == 8:  # wrong: one twice
        total = x[start].load(ONE, width=4)
        for k in range(3):
            total = total + x[start + k].load(ONE, width=4)
        y[start].store(total, width=4)
    elif CASE == 9:  # wrong: stored one late
        total = x[start].load(ONE, width=4)
        for k in range(1, 4):
            total = total + x[start + k].load(ONE, width=4)
        y[start + 1].store(total, width=4)
    elif CASE == 10:  # wrong: neighbors of the tile, not of the element
        total = x[start].load(FOUR, width=16)
        for k in range(1, 4):
            total = total + x[start + 4 * k].load(FOUR, width=16)
        y[start].store(total, width=16)
    elif CASE == 11:  # wrong: the edge is not in LDS
        line.store(x[start].load(ONE, width=4), width=4)
        line.store(x[start].load(ONE, width=4), i=("i", 256), width=4)
        ag.barrier()
        total = line.load(ONE, width=4)
        for k in range(1, 4):
            total = total + line.load(ONE, i=k, width=4)
        y[start].store(total, width=4)
    elif CASE == 12:  # wrong: a product of two
        total = x[start].load(ONE, width=4) * x[start + 1].load(ONE, width=4)
        for k in range(2, 4):
            total = total + x[start + k].load(ONE, width=4)
        y[start].store(total, width=4)
    elif CASE == 13:  # wrong: the next block's
        total = x[start].load(ONE, width=4)
        for k in range(1, 4):
            total = total + x[start + 256 * k].load(ONE, width=4)
        y[start].store(total, width=4)
    elif CASE == 14:  # wrong: no barrier
        line.store(x[start].load(ONE, width=4), width=4)
        line.store(x[start + 256].load(ONE, width=4), i=("i", 256), width=4)
        total = line.load(ONE, width=4)
        for k in range(1, 4):
            total = total + line.load(ONE, i=k, width=4)
        y[start].store(total, width=4)
    else:  # wrong: the neighbors before
        total = x[start].load(ONE, width=4)
        for k in range(1, 4):
            total = total + x[start - k].load(ONE, width=4)
        y[start].store(total, width=4)


SMOOTH = "y[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]"


@ag.kernel(threads=256, requires="N >= 3", computes=SMOOTH, example=dict(N=1000))
def smooth(x: ag.In["N", f32], y: ag.Out["N", f32]):
    start = 256 * ag.grid(ag.cdiv(N, 256))

    def before(at):
        return x[at - 1].load(ONE, width=4, guard=lambda i: at - 1 + i >= 0)

    if CASE == 0:
        total = 0.25 * before(start)
        total = total + 0.5 * x[start].load(ONE, width=4)
        total = total + 0.25 * x[start + 1].load(ONE, width=4)
    elif CASE == 1:
        edges = before(start) + x[start + 1].load(ONE, width=4)
        total = ag.fma(edges, 0.25, 0.5 * x[start].load(ONE, width=4))
    elif CASE == 2:  # wrong: weights exchanged
        total = 0.5 * before(start)
        total = total + 0.25 * x[start].load(ONE, width=4)
        total = total + 0.25 * x[start + 1].load(ONE, width=4)
    else:  # wrong: one side only
        total = 0.5 * x[start + 1].load(ONE, width=4)
        total = total + 0.5 * x[start].load(ONE, width=4)
    y[start].store(total, width=4)


@ag.kernel(
    threads=256, requires="N >= 3", computes="y[m, i] = maximum(x[m, i], x[m, i + 1])", example=dict(M=3, N=1000)
)
def pair_max(x: ag.In["M N", f32], y: ag.Out["M N", f32]):
    m, b = ag.grid(M, ag.cdiv(N, 256))
    if CASE == 0:
        here = x[m, 256 * b].load(ONE, width=4, guard="shape")
        y[m, 256 * b].store(ag.max(here, x[m, 256 * b + 1].load(ONE, width=4, guard="shape")), width=4, guard="shape")
    elif CASE == 1:  # wrong: the end of a row sees the next row
        here = x[m, 256 * b].load(ONE, width=4, guard="shape")
        y[m, 256 * b].store(ag.max(here, x[m, 256 * b + 1].load(ONE, width=4)), width=4, guard="shape")
    else:  # wrong: the next row
        here = x[m, 256 * b].load(ONE, width=4, guard="shape")
        y[m, 256 * b].store(ag.max(here, x[m + 1, 256 * b].load(ONE, width=4, guard="shape")), width=4, guard="shape")
