"""Matrix times vector: y[m] = sum(A[m, k] * x[k], k). f32, bf16 or f16 in, f32 out, any length.

A row belongs to WAVES waves and is walked in pieces; x comes from the caches. The matrix is read once, which is all the
time there is. A vector times a matrix stored the other way is a reduction of columns, `reduce_axis`.
"""

import argus as ag
from argus import f32
from argus.kernels.rows import LANES, ONE, ROW, ROWS, SIZE, SPAN, WAVES, WIDTH, T, added, of_waves


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and N >= 1 and N % {max(1, WIDTH // SIZE)} == 0",
    computes="y[m] = sum(A[m, n] * x[n], n)",
    example=dict(M=6, N=3000),
)
def matvec(A: ag.In["M N", T], x: ag.In["N", T], y: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    sums = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        a = A[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        b = x[i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        sums = sums + added(a * b)
    y[row].store(of_waves(sums), width=4, guard=ag.lane() == 0 if WAVES == 1 else ag.thread() == 0)
