"""Layer normalisation of rows: Y = (X - mean) * rsqrt(variance + eps) * W + B. f32, bf16 or f16, f32 arithmetic.

The variance is the mean of squared deviations from the mean, not a difference of large numbers. `layernorm` holds a row
in registers: it is read once and written once. `layernorm_long` walks rows that do not fit, three times.
"""

import argus as ag
from argus import f32
from argus.kernels.rows import EXACT, LANES, LENGTH, ONE, ROW, ROWS, SIZE, SPAN, WAVES, WIDTH, T, added, of_waves

MEAN = "sum(X[m, j], j) / N"
VARIANCE = f"sum((X[m, k] - {MEAN}) * (X[m, k] - {MEAN}), k) / N"
MEANS = f"Y[m, n] = (X[m, n] - {MEAN}) * rsqrt({VARIANCE} + eps) * W[n] + B[n]"


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and {LENGTH}",
    computes=MEANS,
    example=dict(M=6, N=SPAN if EXACT else 200),
)
def layernorm(X: ag.In["M N", T], W: ag.In["N", T], B: ag.In["N", T], Y: ag.Out["M N", T], eps: f32):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    inside = row < M if EXACT else "shape"
    known = True if EXACT else "shape"
    w = W.load(ROW, width=WIDTH, guard=known)
    b = B.load(ROW, width=WIDTH, guard=known)
    x = X[row].load(ROW, width=WIDTH, guard=inside).to(f32)
    off = x - of_waves(added(x)) / f32(N)
    off = off if EXACT else ag.where(x.n < N, off, 0.0)
    scale = ag.rsqrt(of_waves(added(off * off)) / f32(N) + eps)
    Y[row].store((off * scale * w.to(f32) + b.to(f32)).to(T), width=WIDTH, guard=inside)


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and N >= 1 and N % {WIDTH // SIZE} == 0",
    computes=MEANS,
    example=dict(M=6, N=3000),
)
def layernorm_long(X: ag.In["M N", T], W: ag.In["N", T], B: ag.In["N", T], Y: ag.Out["M N", T], eps: f32):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    sums, squares = ag.zeros(ONE, f32).without(), ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        sums = sums + added(X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32))
    mean = of_waves(sums) / f32(N)
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        off = ag.where(i * SPAN + x.n < N, x - mean, 0.0)
        squares = squares + added(off * off)
    scale = ag.rsqrt(of_waves(squares) / f32(N) + eps)
    for i in ag.range(ag.cdiv(N, SPAN)):
        w = W[i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        b = B[i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        Y[row, i * SPAN].store(((x - mean) * scale * w + b).to(T), width=WIDTH, guard="shape")
