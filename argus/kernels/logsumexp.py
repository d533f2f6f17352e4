"""Logarithm of a sum of exponentials over rows, and the logarithm of softmax. f32, bf16 or f16, any row length.

    logsumexp      L[m] = max + log(sum(exp(X[m, :] - max)))
    log_softmax    Y[m, n] = X[m, n] - max - log(sum(exp(X[m, :] - max)))

Rows are held in registers as in softmax; `…_long` walk rows that do not fit: once for the maximum, once for the sum,
and `log_softmax_long` once more for the result.
"""

import argus as ag
from argus import LOG2E, f32, inf
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
)

TOP = "max(X[m, j], j)"
LOG = f"log(sum(exp(X[m, i] - {TOP}), i))"
NEEDS = f"M >= 1 and N >= 1 and N % {max(1, WIDTH // SIZE)} == 0"


def first_lane():
    return ag.lane() == 0 if WAVES == 1 else ag.thread() == 0


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and {LENGTH}",
    computes=f"L[m] = {TOP} + {LOG}",
    example=dict(M=6, N=SPAN if EXACT else 200),
)
def logsumexp(X: ag.In["M N", T], L: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    inside = row < M if EXACT else "shape"
    x = X[row].load(ROW, width=WIDTH, guard=inside).to(f32)
    x = x if EXACT else ag.where(x.n < N, x, -inf)
    top = largest_of_waves(largest(x))
    total = of_waves(added(ag.exp2((x - top) * LOG2E)))
    L[row].store(top + ag.log(total), width=4, guard=first_lane())


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and {LENGTH}",
    computes=f"Y[m, n] = X[m, n] - {TOP} - {LOG}",
    example=dict(M=6, N=SPAN if EXACT else 200),
)
def log_softmax(X: ag.In["M N", T], Y: ag.Out["M N", T]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    inside = row < M if EXACT else "shape"
    x = X[row].load(ROW, width=WIDTH, guard=inside).to(f32)
    x = x if EXACT else ag.where(x.n < N, x, -inf)
    off = x - largest_of_waves(largest(x))
    total = of_waves(added(ag.exp2(off * LOG2E)))
    Y[row].store((off - ag.log(total)).to(T), width=WIDTH, guard=inside)


@ag.kernel(threads=LANES * ROWS, requires=NEEDS, computes=f"L[m] = {TOP} + {LOG}", example=dict(M=6, N=3000))
def logsumexp_long(X: ag.In["M N", T], L: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    top, sums = ag.full(ONE, f32, -inf).without(), ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        top = ag.max(top, largest(ag.where(i * SPAN + x.n < N, x, -inf)))
    high = largest_of_waves(top)
    for i in ag.range(ag.cdiv(N, SPAN)):
        u = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        sums = sums + added(ag.exp2((ag.where(i * SPAN + u.n < N, u, -inf) - high) * LOG2E))
    L[row].store(high + ag.log(of_waves(sums)), width=4, guard=first_lane())


@ag.kernel(
    threads=LANES * ROWS, requires=NEEDS, computes=f"Y[m, n] = X[m, n] - {TOP} - {LOG}", example=dict(M=6, N=3000)
)
def log_softmax_long(X: ag.In["M N", T], Y: ag.Out["M N", T]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    top, sums = ag.full(ONE, f32, -inf).without(), ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        top = ag.max(top, largest(ag.where(i * SPAN + x.n < N, x, -inf)))
    high = largest_of_waves(top)
    for i in ag.range(ag.cdiv(N, SPAN)):
        u = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        sums = sums + added(ag.exp2((ag.where(i * SPAN + u.n < N, u, -inf) - high) * LOG2E))
    low = ag.log(of_waves(sums))
    for i in ag.range(ag.cdiv(N, SPAN)):
        v = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        Y[row, i * SPAN].store((v - high - low).to(T), width=WIDTH, guard="shape")
