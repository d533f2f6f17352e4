"""Reduction of rows: Y[m] = sum, mean, maximum or minimum of X[m, :]. f32, bf16 or f16 in, f32 out, any row length.

A row belongs to WAVES waves (with one, four rows to a workgroup). `rowreduce` holds it in registers. `rowreduce_long`
walks longer rows: a wave reduces each chunk to one number and keeps that; waves meet once, after the loop.
"""

import argus as ag
from argus import f32, inf
from argus.kernels.rows import (
    EXACT,
    LANES,
    LENGTH,
    ONE,
    ROW,
    ROWS,
    SIZE,
    SPAN,
    WAVES,
    WIDTH,
    T,
    added,
    largest,
    largest_of_waves,
    of_waves,
    smallest,
    smallest_of_waves,
)

OP = ag.knob("sum", legal=("sum", "mean", "max", "min"), why="what is taken of a row")


MEANS = {
    "sum": "Y[m] = sum(X[m, n], n)",
    "mean": "Y[m] = sum(X[m, n], n) / N",
    "max": "Y[m] = max(X[m, n], n)",
    "min": "Y[m] = min(X[m, n], n)",
}[OP]
START = {"sum": 0.0, "mean": 0.0, "max": -inf, "min": inf}[OP]
NEEDS = f"M >= 1 and N >= 1 and N % {WIDTH // SIZE} == 0"


def over(x):
    """The reduction over registers and lanes."""
    return {"max": lambda: largest(x), "min": lambda: smallest(x)}[OP]() if START != 0.0 else added(x)


def joined(kept, x):
    """What was reduced before, with one piece more."""
    if OP == "max":
        return ag.max(kept, over(x))
    if OP == "min":
        return ag.min(kept, over(x))
    return kept + over(x)


def finished(part, N):
    """What is asked for, of what each wave has of a row."""
    if OP == "max":
        return largest_of_waves(part)
    if OP == "min":
        return smallest_of_waves(part)
    return of_waves(part) / f32(N) if OP == "mean" else of_waves(part)


@ag.kernel(
    threads=LANES * ROWS, requires=f"M >= 1 and {LENGTH}", computes=MEANS, example=dict(M=6, N=SPAN if EXACT else 200)
)
def rowreduce(X: ag.In["M N", T], Y: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    inside = row < M if EXACT else "shape"
    x = X[row].load(ROW, width=WIDTH, guard=inside).to(f32)
    kept = ag.where(x.n < N, x, START) if START != 0.0 and not EXACT else x
    Y[row].store(finished(over(kept), N), width=4, guard=ag.lane() == 0 if WAVES == 1 else ag.thread() == 0)


@ag.kernel(threads=LANES * ROWS, requires=NEEDS, computes=MEANS, example=dict(M=6, N=3000))
def rowreduce_long(X: ag.In["M N", T], Y: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    kept = ag.full(ONE, f32, START).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        kept = joined(kept, ag.where(i * SPAN + x.n < N, x, START) if START != 0.0 else x)
    Y[row].store(finished(kept, N), width=4, guard=ag.lane() == 0 if WAVES == 1 else ag.thread() == 0)
