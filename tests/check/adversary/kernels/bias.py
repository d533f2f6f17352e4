"""A product with a bias per column, and workgroups numbered by hand."""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

CASE = ag.knob(0, legal=tuple(range(10)), why="which variant")

FRAG = MMA.operand(wide=8)
ACC = MMA.acc(row="m", col="n")


@ag.kernel(
    threads=128,
    requires="M % 64 == 0 and N % 32 == 0 and K % 16 == 0 and K >= 16 and M >= 64 and N >= 32",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k) + b[n]",
    example=dict(M=64, N=96, K=16),
)
def bias(A: ag.In["M K", bf16], B: ag.In["N K", bf16], b: ag.In["N", f32], C: ag.Out["M N", f32]):
    rows, columns = M // 64, N // 32
    if CASE in (3, 4, 5):
        number = ag.grid(rows * columns)
        if CASE == 3:
            bm, bn = number // columns, number % columns
        elif CASE == 4:
            bm, bn = number // rows, number % columns
        else:
            bm, bn = number % rows, number // rows
    elif CASE == 6:
        bm, bn = ag.grid(rows, columns, order=ag.grouped(2))
    elif CASE == 7:
        bm, bn = ag.grid(rows, columns, order=ag.xcd(8))
    else:
        bm, bn = ag.grid(rows, columns)
    m0, n0 = bm * 64 + 32 * ag.wave(), bn * 32
    acc = ag.zeros(ACC, f32)
    for ks in ag.range(K // 16):
        x = A[m0, 16 * ks].load(FRAG, width=16)
        y = B[n0, 16 * ks].load(FRAG, width=16)
        for h in ag.unroll(2):
            acc = MMA(x[h], y[h], acc)
    if CASE == 1:
        more = b[m0].load(ACC.per("n"), width=4)
    elif CASE == 2:
        more = b.load(ACC.per("n"), width=4)
    else:
        more = b[n0].load(ACC.per("n"), width=4)
    if CASE == 8:
        out = acc + more + more
    elif CASE == 9:
        out = acc
    else:
        out = acc + more
    C[m0, n0].store(out, width=4)
