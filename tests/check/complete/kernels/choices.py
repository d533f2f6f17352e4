"""Choices by value, `ag.where(x > 0, x, 0)`, for maxima, bounds and magnitudes: right ones first, then wrong ones."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(10)), why="which variant")

ONE = ag.Owner(t=256, i="t")


@ag.kernel(threads=256, computes="y[i] = maximum(x[i] - 5, 0)", example=dict(N=1000))
def relu(x: ag.In["N", f32], y: ag.Out["N", f32]):
    start = 256 * ag.grid(ag.cdiv(N, 256))
    v = x[start].load(ONE, width=4) - 5.0
    if CASE == 0:
        w = ag.where(v > 0.0, v, 0.0)
    elif CASE == 1:
        w = ag.where(v < 0.0, 0.0, v)
    elif CASE == 2:
        w = ag.where(0.0 <= v, v, 0.0)
    elif CASE == 3:  # wrong: the other side
        w = ag.where(v < 0.0, v, 0.0)
    elif CASE == 4:  # wrong: the test is about the next element
        w = ag.where(x[start + 1].load(ONE, width=4) - 5.0 > 0.0, v, 0.0)
    elif CASE == 5:  # wrong: another edge
        w = ag.where(v > 1.0, v, 0.0)
    elif CASE == 6:  # wrong: another value
        w = ag.where(v > 0.0, v, 1.0)
    elif CASE == 7:  # wrong: the next element
        w = ag.where(v > 0.0, x[start + 1].load(ONE, width=4) - 5.0, 0.0)
    elif CASE == 8:  # wrong: the test in the other direction
        w = ag.where(v > 0.0, 0.0, v)
    else:  # wrong: twice
        w = ag.where(v > 0.0, 2.0 * v, 0.0)
    y[start].store(w, width=4)


@ag.kernel(threads=256, computes="y[i] = where(x[i] - 5 > 0, x[i] - 5, 0.5 * (x[i] - 5))", example=dict(N=1000))
def leaky(x: ag.In["N", f32], y: ag.Out["N", f32]):
    start = 256 * ag.grid(ag.cdiv(N, 256))
    v = x[start].load(ONE, width=4) - 5.0
    if CASE == 0:
        w = ag.where(v > 0.0, v, 0.5 * v)
    elif CASE == 1:
        w = ag.max(v, 0.5 * v)
    elif CASE == 2:  # wrong: the smaller
        w = ag.min(v, 0.5 * v)
    elif CASE == 3:  # wrong: another slope
        w = ag.where(v > 0.0, v, 0.25 * v)
    else:  # wrong: sides exchanged
        w = ag.where(v > 0.0, 0.5 * v, v)
    y[start].store(w, width=4)


@ag.kernel(threads=256, computes="y[i] = minimum(maximum(abs(x[i] - 5), 1), 3)", example=dict(N=1000))
def bounded(x: ag.In["N", f32], y: ag.Out["N", f32]):
    start = 256 * ag.grid(ag.cdiv(N, 256))
    v = x[start].load(ONE, width=4) - 5.0
    if CASE == 0:
        w = ag.max(ag.min(ag.max(v, -v), 3.0), 1.0)
    elif CASE == 1:
        w = ag.where(v < 0.0, -v, v)
        w = ag.where(w > 3.0, 3.0, w)
        w = ag.where(w < 1.0, 1.0, w)
    elif CASE == 2:
        w = ag.min(ag.max(ag.abs(v), 1.0), 3.0)
    elif CASE == 3:  # wrong: bounds exchanged
        w = ag.max(ag.min(ag.abs(v), 1.0), 3.0)
    elif CASE == 4:  # wrong: minus the magnitude
        w = ag.min(ag.max(ag.min(v, -v), 1.0), 3.0)
    else:  # wrong: only from below
        w = ag.max(ag.abs(v), 1.0)
    y[start].store(w, width=4)
