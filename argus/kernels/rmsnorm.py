"""RMS normalisation of rows: Y[m, n] = X[m, n] * rsqrt(mean(X[m]^2) + eps) * W[n]. f32, bf16 or f16, f32 arithmetic.

`rmsnorm` holds a row in registers: it is read once and written once. A row belongs to WAVES waves (with one, four rows
to a workgroup); a thread holds CHUNKS times 16 bytes of it. `rmsnorm_long` walks rows that do not fit, twice.
"""

import argus as ag
from argus import f32
from argus.kernels.rows import EXACT, LANES, LENGTH, ONE, ROW, ROWS, SIZE, SPAN, WAVES, WIDTH, T, added, of_waves


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and {LENGTH}",
    computes="Y[m, n] = X[m, n] * rsqrt(sum(X[m, k] * X[m, k], k) / N + eps) * W[n]",
    example=dict(M=6, N=SPAN if EXACT else 200),
)
def rmsnorm(X: ag.In["M N", T], W: ag.In["N", T], Y: ag.Out["M N", T], eps: f32):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    inside = row < M if EXACT else "shape"
    known = True if EXACT else "shape"
    w = W.load(ROW, width=WIDTH, guard=known)
    x = X[row].load(ROW, width=WIDTH, guard=inside).to(f32)
    scale = ag.rsqrt(of_waves(added(x * x)) / f32(N) + eps)
    Y[row].store((x * scale * w.to(f32)).to(T), width=WIDTH, guard=inside)


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and N >= 1 and N % {WIDTH // SIZE} == 0",
    computes="Y[m, n] = X[m, n] * rsqrt(sum(X[m, k] * X[m, k], k) / N + eps) * W[n]",
    example=dict(M=6, N=3000),
)
def rmsnorm_long(X: ag.In["M N", T], W: ag.In["N", T], Y: ag.Out["M N", T], eps: f32):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    squares = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        squares = squares + added(x * x)
    scale = ag.rsqrt(of_waves(squares) / f32(N) + eps)
    for i in ag.range(ag.cdiv(N, SPAN)):
        w = W[i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        Y[row, i * SPAN].store((x * scale * w).to(T), width=WIDTH, guard="shape")
