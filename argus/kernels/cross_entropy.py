"""Cross entropy of rows with the class of each: a term per row; the mean of the batch is a second launch, `to_scalar`.

    P[m] = log(sum(exp(X[m, :]))) - X[m, Y[m]]

The logarithm of softmax at the target, negated, written with the row's maximum so that no exponential overflows. Y has
one class per row, 0 <= Y[m] < N, as 64-bit integers as PyTorch has them, or 32-bit ones (INDEX). The chosen element is
loaded once more by its place: the row is on its way through the caches at that time.

`cross_entropy` holds a row in registers. `cross_entropy_long` walks rows of any length: one wave walks a row once, with
a running maximum by which the sum is rescaled; several waves walk it twice, for the maximum and for the sum. There is
no class that is ignored, no weight per class and no smoothing.
"""

import argus as ag
from argus import LOG2E, f32, i32, i64, inf
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

INDEX = ag.knob("i64", legal=("i32", "i64"), why="element type of Y")

I = {"i32": i32, "i64": i64}[INDEX]
BYTES = {"i32": 4, "i64": 8}[INDEX]
LOWEST = -1e30  # below every logit: not -inf, since -inf - -inf is no number
TOP = "max(X[m, j], j)"
STATED = f"P[m] = {TOP} + log(sum(exp(X[m, i] - {TOP}), i)) - X[m, Y[m]]"


def first_lane():
    return ag.lane() == 0 if WAVES == 1 else ag.thread() == 0


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and {LENGTH}",
    computes=STATED,
    example=dict(M=6, N=SPAN if EXACT else 200),
)
def cross_entropy(X: ag.In["M N", T], Y: ag.In["M", I], P: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    inside = row < M if EXACT else "shape"
    target = ag.as_index(Y[row].load(ONE, width=BYTES), 0, N - 1, name="target")
    x = X[row].load(ROW, width=WIDTH, guard=inside).to(f32)
    chosen = X[row, target].load(ONE, width=SIZE, guard=row < M).to(f32).without()
    x = x if EXACT else ag.where(x.n < N, x, -inf)
    top = largest_of_waves(largest(x))
    total = of_waves(added(ag.exp2((x - top) * LOG2E)))
    P[row].store(top + ag.log(total) - chosen, width=4, guard=first_lane())


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and N >= 1 and N % {max(1, WIDTH // SIZE)} == 0",
    computes=STATED,
    example=dict(M=6, N=3000),
)
def cross_entropy_long(X: ag.In["M N", T], Y: ag.In["M", I], P: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    target = ag.as_index(Y[row].load(ONE, width=BYTES), 0, N - 1, name="target")
    chosen = X[row, target].load(ONE, width=SIZE, guard=row < M).to(f32).without()
    top, sums = ag.full(ONE, f32, LOWEST).without(), ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        x = ag.where(i * SPAN + x.n < N, x, -inf)
        new = ag.max(top, largest(x))
        if WAVES == 1:
            sums = sums * ag.exp2((top - new) * LOG2E) + added(ag.exp2((x - new) * LOG2E))
        top = new
    high = largest_of_waves(top)
    if WAVES > 1:
        for j in ag.range(ag.cdiv(N, SPAN)):
            u = X[row, j * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
            sums = sums + added(ag.exp2((ag.where(j * SPAN + u.n < N, u, -inf) - high) * LOG2E))
    P[row].store(high + ag.log(of_waves(sums)) - chosen, width=4, guard=first_lane())
