"""Softmax of rows: Y[m, n] = exp(X[m, n] - max) / sum. f32, bf16 or f16, any row length, f32 arithmetic.

`softmax` holds a row in registers: it is read once and written once, which is all the memory traffic there is. A row
belongs to WAVES waves (with one, four rows to a workgroup); a thread holds CHUNKS times 16 bytes of it. `softmax_long`
walks rows that do not fit, three times: for the maximum, the sum, and the result.

Elements past the end of a row are loaded as zeros, made -inf for the maximum, and not stored. RESULT: Y has another
type than X, as weights of scores that are kept in f32.
"""

import argus as ag
from argus import LOG2E, bf16, f16, f32, inf
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

RESULT = ag.knob("X", legal=("X", "bf16", "f16"), why="element type of Y; X: that of X")
R = {"X": T, "bf16": bf16, "f16": f16}[RESULT]
STORED = WIDTH if RESULT == "X" else WIDTH * 2 // SIZE


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and {LENGTH}",
    computes="Y[m, n] = exp(X[m, n] - max(X[m, j], j)) / sum(exp(X[m, i] - max(X[m, j], j)), i)",
    example=dict(M=6, N=SPAN if EXACT else 200),
)
def softmax(X: ag.In["M N", T], Y: ag.Out["M N", R]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    inside = row < M if EXACT else "shape"
    x = X[row].load(ROW, width=WIDTH, guard=inside).to(f32)
    x = x if EXACT else ag.where(x.n < N, x, -inf)
    e = ag.exp2((x - largest_of_waves(largest(x))) * LOG2E)
    Y[row].store((e * ag.rcp(of_waves(added(e)))).to(R), width=STORED, guard=inside)


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and N >= 1 and N % {WIDTH // SIZE} == 0",
    computes="Y[m, n] = exp(X[m, n] - max(X[m, j], j)) / sum(exp(X[m, i] - max(X[m, j], j)), i)",
    example=dict(M=6, N=3000),
)
def softmax_long(X: ag.In["M N", T], Y: ag.Out["M N", R]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    top, sums = ag.full(ONE, f32, -inf).without(), ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        top = ag.max(top, largest(ag.where(i * SPAN + x.n < N, x, -inf)))
    high = largest_of_waves(top)
    for i in ag.range(ag.cdiv(N, SPAN)):
        u = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        sums = sums + added(ag.exp2((ag.where(i * SPAN + u.n < N, u, -inf) - high) * LOG2E))
    scale = ag.rcp(of_waves(sums))
    for i in ag.range(ag.cdiv(N, SPAN)):
        v = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        e = ag.exp2((ag.where(i * SPAN + v.n < N, v, -inf) - high) * LOG2E)
        Y[row, i * SPAN].store((e * scale).to(R), width=STORED, guard="shape")
