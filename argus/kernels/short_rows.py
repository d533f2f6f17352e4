"""Layer normalization of short rows, many of them: groups of features, the last axis of an image.

    Y[m, n] = (X[m, n] - mean) * rsqrt(variance + eps) * W[n] + B[n]         mean, variance: of X[m, :]

A row belongs to LANES lanes, each of which holds 16 bytes of it, so that a wave has 64 / LANES rows: `layernorm` gives
every row a wave, of which a row of 16 elements uses two lanes. f32, bf16 or f16 in, f32 arithmetic, rows are read once.
"""

import argus as ag
from argus import bf16, f16, f32

DTYPE = ag.knob("bf16", legal=("f32", "bf16", "f16"), why="element type of X, W, B and Y")
LANES = ag.knob(8, legal=(2, 4, 8, 16, 32), why="lanes that share a row")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access; rows must be multiples of it")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
E = 16 // SIZE
SPAN = LANES * E
ROWS = 256 // LANES
TILE = ag.Owner(t=256, e=E, m=f"t//{LANES}", n=f"t%{LANES}*{E} + e")
COLUMNS = ag.Owner(t=256, e=E, n=f"t%{LANES}*{E} + e")

MEAN = "sum(X[m, i], i) / N"
VARIANCE = "sum((X[m, k] - sum(X[m, j], j) / N) * (X[m, k] - sum(X[m, j], j) / N), k) / N"


@ag.kernel(
    threads=256,
    requires=f"M >= 1 and N >= 1 and N <= {SPAN} and N % {max(1, WIDTH // SIZE)} == 0",
    computes=f"Y[m, n] = (X[m, n] - {MEAN}) * rsqrt({VARIANCE} + eps) * W[n] + B[n]",
    example=dict(M=700, N=max(1, WIDTH // SIZE)),
)
def short_layernorm(X: ag.In["M N", T], W: ag.In["N", T], B: ag.In["N", T], Y: ag.Out["M N", T], eps: f32):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS))
    x = X[row, 0].load(TILE, width=WIDTH, guard="shape").to(f32)
    mean = x.sum("n") / f32(N)
    off = ag.where(x.n < N, x - mean, 0.0)
    variance = (off * off).sum("n") / f32(N)
    w = W[0].load(COLUMNS, width=WIDTH, guard="shape").to(f32)
    b = B[0].load(COLUMNS, width=WIDTH, guard="shape").to(f32)
    Y[row, 0].store((off * ag.rsqrt(variance + eps) * w + b).to(T), width=WIDTH, guard="shape")
