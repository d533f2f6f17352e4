"""Mean and sum of squared deviations of rows: what batch, group and instance normalization begin with.

    mean[m] = sum(X[m, n], n) / N;   dev[m] = sum((X[m, n] - mean[m])^2, n)

A row is one channel of one image. Deviations are taken from the row's own mean, so that nothing cancels; the rows'
statistics are put together by the kernel that normalizes. `moments` holds a row in registers, `moments_long` walks it
twice, the second time out of the caches as far as they hold it.
"""

import argus as ag
from argus import f32
from argus.kernels.rows import EXACT, LANES, LENGTH, ONE, ROW, ROWS, SIZE, SPAN, WAVES, WIDTH, T, added, of_waves

MEAN = "sum(X[m, j], j) / N"
MEANS = f"mean[m] = {MEAN}; dev[m] = sum((X[m, k] - {MEAN}) * (X[m, k] - {MEAN}), k)"


def first_lane():
    return ag.lane() == 0 if WAVES == 1 else ag.thread() == 0


@ag.kernel(
    threads=LANES * ROWS, requires=f"M >= 1 and {LENGTH}", computes=MEANS, example=dict(M=6, N=SPAN if EXACT else 200)
)
def moments(X: ag.In["M N", T], mean: ag.Out["M", f32], dev: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    x = X[row].load(ROW, width=WIDTH, guard=row < M if EXACT else "shape").to(f32)
    middle = of_waves(added(x)) / f32(N)
    off = x - middle
    off = off if EXACT else ag.where(x.n < N, off, 0.0)
    mean[row].store(middle, width=4, guard=first_lane())
    dev[row].store(of_waves(added(off * off)), width=4, guard=first_lane())


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and N >= 1 and N % {max(1, WIDTH // SIZE)} == 0",
    computes=MEANS,
    example=dict(M=6, N=3000),
)
def moments_long(X: ag.In["M N", T], mean: ag.Out["M", f32], dev: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    sums, squares = ag.zeros(ONE, f32).without(), ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        sums = sums + added(X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32))
    middle = of_waves(sums) / f32(N)
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        off = ag.where(i * SPAN + x.n < N, x - middle, 0.0)
        squares = squares + added(off * off)
    mean[row].store(middle, width=4, guard=first_lane())
    dev[row].store(of_waves(squares), width=4, guard=first_lane())
