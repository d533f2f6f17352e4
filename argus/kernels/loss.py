"""Losses of two matrices to one number, in two launches: a term per row, then the mean of the terms.

    loss_rows     P[m] = sum over n of term(X[m, n], Y[m, n]) / N          mse, huber, hinge, kl
    cosine_rows   P[m] = 1 - X[m] . Y[m] / sqrt(|X[m]|^2 * |Y[m]|^2)
    triplet_rows  P[m] = max(|X[m] - Y[m] + eps| - |X[m] - Z[m] + eps| + margin, 0)

The mean over m is a second launch, `to_scalar`: a fixed order, unlike atomics. `kl` is the sum of t * (log t - log x)
over a row, of probabilities, not divided by N: its mean over rows is PyTorch's `batchmean`. `huber` has delta 1
(smooth L1 with beta 1), written as m * d - m * m / 2 with d = |x - y| and m = min(d, 1). Y may be one row for all
(SHARED), as hinge losses have their targets.

A row belongs to WAVES waves and is walked in pieces of SPAN elements. Masked elements are zeros in X and Y; a term that
is not zero there is masked.
"""

import argus as ag
from argus import f32
from argus.kernels.rows import LANES, ONE, ROW, ROWS, SIZE, SPAN, WAVES, WIDTH, T, added, of_waves

TERM = ag.knob("mse", legal=("mse", "huber", "hinge", "kl"), why="loss_rows: the term of an element")
SHARED = ag.knob(False, legal=(False, True), why="loss_rows: Y is one row for all rows of X")

NEEDS = f"M >= 1 and N >= 1 and N % {max(1, WIDTH // SIZE)} == 0"
AT = "Y[n]" if SHARED else "Y[m, n]"
DISTANCE = f"abs(X[m, n] - {AT})"
STATED = {
    "mse": f"(X[m, n] - {AT}) * (X[m, n] - {AT})",
    "huber": f"minimum({DISTANCE}, 1) * {DISTANCE} - 0.5 * minimum({DISTANCE}, 1) * minimum({DISTANCE}, 1)",
    "hinge": f"maximum(1 - X[m, n] * {AT}, 0)",
    "kl": f"{AT} * (log({AT}) - log(X[m, n]))",
}[TERM]


def term(x, y):
    """The term of an element."""
    if TERM == "mse":
        return (x - y) * (x - y)
    if TERM == "huber":
        d = ag.abs(x - y)
        m = ag.min(d, 1.0)
        return m * d - 0.5 * m * m
    if TERM == "hinge":
        return ag.max(1.0 - x * y, 0.0)
    return y * (ag.log(y) - ag.log(x))


def first_lane():
    return ag.lane() == 0 if WAVES == 1 else ag.thread() == 0


@ag.kernel(
    threads=LANES * ROWS,
    requires=NEEDS,
    computes=f"P[m] = sum({STATED}, n)" + ("" if TERM == "kl" else " / N"),
    example=dict(M=6, N=3000),
)
def loss_rows(X: ag.In["M N", T], Y: ag.In["N" if SHARED else "M N", T], P: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    sums = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        y = (Y[i * SPAN] if SHARED else Y[row, i * SPAN]).load(ROW, width=WIDTH, guard="shape").to(f32)
        here = term(x, y)
        here = ag.where(i * SPAN + x.n < N, here, 0.0) if TERM in ("hinge", "kl") else here
        sums = sums + added(here)
    total = of_waves(sums)
    P[row].store(total if TERM == "kl" else total / f32(N), width=4, guard=first_lane())


@ag.kernel(
    threads=LANES * ROWS,
    requires=NEEDS,
    computes="P[m] = 1 - sum(X[m, n] * Y[m, n], n) * rsqrt(sum(X[m, j] * X[m, j], j) * sum(Y[m, i] * Y[m, i], i))",
    example=dict(M=6, N=3000),
)
def cosine_rows(X: ag.In["M N", T], Y: ag.In["M N", T], P: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    xy, xx, yy = ag.zeros(ONE, f32).without(), ag.zeros(ONE, f32).without(), ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        y = Y[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        xy, xx, yy = xy + added(x * y), xx + added(x * x), yy + added(y * y)
    P[row].store(1.0 - of_waves(xy) * ag.rsqrt(of_waves(xx) * of_waves(yy)), width=4, guard=first_lane())


@ag.kernel(
    threads=LANES * ROWS,
    requires=NEEDS,
    computes="P[m] = maximum(sqrt(sum((X[m, n] - Y[m, n] + eps) * (X[m, n] - Y[m, n] + eps), n)) - "
    "sqrt(sum((X[m, j] - Z[m, j] + eps) * (X[m, j] - Z[m, j] + eps), j)) + margin, 0)",
    example=dict(M=6, N=3000),
)
def triplet_rows(
    X: ag.In["M N", T], Y: ag.In["M N", T], Z: ag.In["M N", T], P: ag.Out["M", f32], margin: f32, eps: f32
):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    near, far = ag.zeros(ONE, f32).without(), ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        y = Y[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        z = Z[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        inside = i * SPAN + x.n < N
        p, q = x - y + eps, x - z + eps
        near = near + added(ag.where(inside, p * p, 0.0))
        far = far + added(ag.where(inside, q * q, 0.0))
    off = ag.sqrt(of_waves(near)) - ag.sqrt(of_waves(far)) + margin
    P[row].store(ag.max(off, 0.0), width=4, guard=first_lane())
