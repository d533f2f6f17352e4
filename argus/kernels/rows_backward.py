"""Gradients of softmax, RMS and layer normalisation of rows. f32, bf16 or f16, any row length, f32 arithmetic.

    softmax    dX = Y * (G - sum(G * Y))                                    from the result Y
    rmsnorm    dX = r * (A - z * mean(A * z)),             P = G * z        z = X * r
    layernorm  dX = r * (A - mean(A) - z * mean(A * z)),   P = G * z        z = (X - mean) * r,   A = G * W

G is the gradient of the result, r = rsqrt(dev / N + eps). The launch before has made dev, the sum of squares of each
row (`squares` of rownorm.py) or of its deviations from `mean` (`moments`). The gradient of W is the sum of P over the
rows, that of a bias the sum of G (`reduce_axis`).

A row is walked twice, for its sums and for the result, the second time out of the caches as far as they hold it.
"""

import argus as ag
from argus import f32
from argus.kernels.rows import LANES, ONE, ROW, ROWS, SIZE, SPAN, WAVES, WIDTH, T, added, of_waves

WIDE = min(16, 4 * (WIDTH // SIZE))  # bytes per access of P, whose elements have four
NEEDS = f"M >= 1 and N >= 1 and N % {WIDTH // SIZE} == 0"
SCALE = "rsqrt(dev[m] / N + eps)"


def stated(off_n, off_k, middle):
    """Both results in index notation; `off`: X or its deviation, `middle`: the mean of A, where it is subtracted."""
    along = f"{SCALE} * sum(G[m, k] * W[k] * {off_k}, k) / N"
    z = f"{off_n} * {SCALE}"
    return f"dX[m, n] = {SCALE} * (G[m, n] * W[n]{middle} - {z} * ({along})); P[m, n] = G[m, n] * ({z})"


def own_row(M):
    """The row of this wave or workgroup."""
    return ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)


def piece(X, row, i):
    """Part i of a row; zeros past its end."""
    return X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)


@ag.kernel(
    threads=LANES * ROWS,
    requires=NEEDS,
    computes="dX[m, n] = Y[m, n] * (G[m, n] - sum(G[m, k] * Y[m, k], k))",
    example=dict(M=6, N=3000),
)
def softmax_backward(Y: ag.In["M N", T], G: ag.In["M N", T], dX: ag.Out["M N", T]):
    row = own_row(M)
    sums = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        sums = sums + added(piece(G, row, i) * piece(Y, row, i))
    total = of_waves(sums)
    for i in ag.range(ag.cdiv(N, SPAN)):
        found = piece(Y, row, i) * (piece(G, row, i) - total)
        dX[row, i * SPAN].store(found.to(T), width=WIDTH, guard="shape")


@ag.kernel(
    threads=LANES * ROWS,
    requires=NEEDS,
    computes=stated("X[m, n]", "X[m, k]", ""),
    example=dict(M=6, N=3000),
)
def rmsnorm_backward(
    X: ag.In["M N", T],
    W: ag.In["N", T],
    G: ag.In["M N", T],
    dev: ag.In["M", f32],
    dX: ag.Out["M N", T],
    P: ag.Out["M N", f32],
    eps: f32,
):
    row = own_row(M)
    scale = ag.rsqrt(dev[row].load(ONE, width=4, guard=row < M).without() / f32(N) + eps)
    sums = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        w = W[i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        sums = sums + added(piece(G, row, i) * w * piece(X, row, i))
    along = scale * of_waves(sums) / f32(N)
    for i in ag.range(ag.cdiv(N, SPAN)):
        w = W[i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        z, g = piece(X, row, i) * scale, piece(G, row, i)
        dX[row, i * SPAN].store((scale * (g * w - z * along)).to(T), width=WIDTH, guard="shape")
        P[row, i * SPAN].store(g * z, width=WIDE, guard="shape")


@ag.kernel(
    threads=LANES * ROWS,
    requires=NEEDS,
    computes=stated("(X[m, n] - mean[m])", "(X[m, k] - mean[m])", " - sum(G[m, j] * W[j], j) / N"),
    example=dict(M=6, N=3000),
)
def layernorm_backward(
    X: ag.In["M N", T],
    W: ag.In["N", T],
    G: ag.In["M N", T],
    mean: ag.In["M", f32],
    dev: ag.In["M", f32],
    dX: ag.Out["M N", T],
    P: ag.Out["M N", f32],
    eps: f32,
):
    row = own_row(M)
    middle = mean[row].load(ONE, width=4, guard=row < M).without()
    scale = ag.rsqrt(dev[row].load(ONE, width=4, guard=row < M).without() / f32(N) + eps)
    sums, products = ag.zeros(ONE, f32).without(), ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        w = W[i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        a = piece(G, row, i) * w
        sums = sums + added(a)
        products = products + added(a * (piece(X, row, i) - middle))
    level, along = of_waves(sums) / f32(N), scale * of_waves(products) / f32(N)
    for i in ag.range(ag.cdiv(N, SPAN)):
        w = W[i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        z, g = (piece(X, row, i) - middle) * scale, piece(G, row, i)
        dX[row, i * SPAN].store((scale * (g * w - level - z * along)).to(T), width=WIDTH, guard="shape")
        P[row, i * SPAN].store(g * z, width=WIDE, guard="shape")
