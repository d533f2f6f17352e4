"""Rows divided by a norm of their own: L1 (mean of magnitudes), L2 (root of the sum of squares). Any row length.

    l1   Y[m, n] = X[m, n] / (sum(abs(X[m, :])) / N)
    l2   Y[m, n] = X[m, n] * rsqrt(sum(X[m, :]^2))

`rownorm` holds a row in registers: it is read once and written once. `rownorm_long` walks rows that do not fit, twice.
`squares` gives every row's sum of squares and `scaled` divides by the root of one number: with `to_scalar` between
them, the Frobenius norm of a matrix.
"""

import argus as ag
from argus import f32
from argus.kernels.rows import EXACT, LANES, LENGTH, ONE, ROW, ROWS, SIZE, SPAN, WAVES, WIDTH, T, added, of_waves

NORM = ag.knob("l2", legal=("l1", "l2"), why="rownorm: which norm")

NEEDS = f"M >= 1 and N >= 1 and N % {max(1, WIDTH // SIZE)} == 0"
MEANS = {
    "l1": "Y[m, n] = X[m, n] / (sum(abs(X[m, k]), k) / N)",
    "l2": "Y[m, n] = X[m, n] * rsqrt(sum(X[m, k] * X[m, k], k))",
}[NORM]


def summand(x):
    return ag.abs(x) if NORM == "l1" else x * x


def divided(x, total, N):
    return x / (total / f32(N)) if NORM == "l1" else x * ag.rsqrt(total)


@ag.kernel(
    threads=LANES * ROWS, requires=f"M >= 1 and {LENGTH}", computes=MEANS, example=dict(M=6, N=SPAN if EXACT else 200)
)
def rownorm(X: ag.In["M N", T], Y: ag.Out["M N", T]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    inside = row < M if EXACT else "shape"
    x = X[row].load(ROW, width=WIDTH, guard=inside).to(f32)
    Y[row].store(divided(x, of_waves(added(summand(x))), N).to(T), width=WIDTH, guard=inside)


@ag.kernel(threads=LANES * ROWS, requires=NEEDS, computes=MEANS, example=dict(M=6, N=3000))
def rownorm_long(X: ag.In["M N", T], Y: ag.Out["M N", T]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    sums = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        sums = sums + added(summand(X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)))
    total = of_waves(sums)
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        Y[row, i * SPAN].store(divided(x, total, N).to(T), width=WIDTH, guard="shape")


@ag.kernel(threads=LANES * ROWS, requires=NEEDS, computes="P[m] = sum(X[m, n] * X[m, n], n)", example=dict(M=6, N=3000))
def squares(X: ag.In["M N", T], P: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    sums = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        sums = sums + added(x * x)
    P[row].store(of_waves(sums), width=4, guard=ag.lane() == 0 if WAVES == 1 else ag.thread() == 0)


@ag.kernel(
    threads=LANES * ROWS,
    requires=NEEDS,
    computes="Y[m, n] = X[m, n] * rsqrt(L[0])",
    example=dict(M=6, N=3000),
)
def scaled(X: ag.In["M N", T], L: ag.In["one=1", f32], Y: ag.Out["M N", T]):
    rows, piece = ag.grid(ag.cdiv(M, ROWS), ag.cdiv(N, SPAN))
    row = ROWS * rows + ag.wave() if WAVES == 1 else rows
    factor = ag.rsqrt(L.load(ONE, width=4).without())
    x = X[row, piece * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
    Y[row, piece * SPAN].store((x * factor).to(T), width=WIDTH, guard="shape")
