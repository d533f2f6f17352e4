"""A GEMM whose N need not be a multiple of the tile: stores past the end of a row must not reach the next one."""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

CASE = ag.knob(0, legal=tuple(range(7)), why="which variant")

COPY = MMA.operand(wide=8)


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires="M % 64 == 0 and K % 16 == 0 and K >= 16 and N >= 1",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=64, N=50, K=16),
)
def ntail(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", f32]):
    bm, bn = ag.grid(M // 64, N // 64 if CASE == 3 else ag.cdiv(N, 64))
    wm, wn = ag.wave()
    m0, n0 = bm * 64 + 32 * wm, bn * 64 + 32 * wn
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    for ks in ag.range(K // 16):
        a = A[m0, 16 * ks].load(COPY, width=16)
        b = B[n0, 16 * ks].load(COPY, width=16)
        for h in ag.unroll(2):
            acc = MMA(a[h], b[h], acc)
    out = C[m0, n0]
    if CASE == 0 or CASE == 3:
        out.store(acc, width=4, guard="shape")
    elif CASE == 1:
        out.store(acc, width=4)
    elif CASE == 2:
        out.store(acc, width=4, guard=lambda m, n: n0 + n < M)
    elif CASE == 4:
        out.store(acc, width=4, guard=lambda m, n: n0 + n < N)
    elif CASE == 5:
        out.store(acc, width=4, guard=lambda m, n: n < N)
    else:
        out.store(acc, width=4, guard=lambda m, n: n0 + n <= N)
