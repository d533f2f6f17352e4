"""Mean and sum of squared deviations of rows: what batch, group and instance normalization begin with.

    mean[m] = sum(X[m, n], n) / N;   dev[m] = sum((X[m, n] - mean[m])^2, n)

A row is one channel of one image. Deviations are taken from the row's own mean, so that nothing cancels; the rows'
statistics are put together by the kernel that normalizes. `moments` holds a row in registers, `moments_long` walks it
twice, the second time out of the caches as far as they hold it.

A row that is too long to be held is read once all the same, if pieces of one length make it up: `moments` of the pieces
as rows, then `joined`. Of P pieces of L elements

    mean[m] = sum(means[m, i], i) / P;   dev[m] = sum(devs[m, i], i) + L * sum((means[m, i] - mean[m])^2, i)
"""

import argus as ag
from argus import f32
from argus.kernels.rows import EXACT, LANES, LENGTH, ONE, ROW, ROWS, SIZE, SPAN, WAVES, WIDTH, T, added, of_waves

MEAN = "sum(X[m, j], j) / N"
MEANS = f"mean[m] = {MEAN}; dev[m] = sum((X[m, k] - {MEAN}) * (X[m, k] - {MEAN}), k)"


JOINED = "sum(means[m, j], j) / P"
OFF = f"(means[m, k] - {JOINED})"
HELD = ag.knob(1, legal=(1, 4, 16), why="pieces a lane of `joined` holds: a row has at most 64 times as many")
PIECES = ag.Owner(lane=64, h=HELD, p="h*64 + lane")


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


@ag.kernel(
    threads=256,
    requires=f"M >= 1 and P >= 1 and P <= {64 * HELD}",
    computes=f"mean[m] = {JOINED}; dev[m] = sum(devs[m, i], i) + length * sum({OFF} * {OFF}, k)",
    example=dict(M=6, P=40),
)
def joined(
    means: ag.In["M P", f32],
    devs: ag.In["M P", f32],
    mean: ag.Out["M", f32],
    dev: ag.Out["M", f32],
    length: f32,
):
    row = 4 * ag.grid(ag.cdiv(M, 4)) + ag.wave()
    x = means[row].load(PIECES, width=4, guard="shape")
    middle = x.sum("p") / f32(P)
    off = ag.where(x.p < P, x - middle, 0.0)
    spread = devs[row].load(PIECES, width=4, guard="shape").sum("p") + length * (off * off).sum("p")
    mean[row].store(middle, width=4, guard=ag.lane() == 0)
    dev[row].store(spread, width=4, guard=ag.lane() == 0)
