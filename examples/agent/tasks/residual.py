"""A product with a residual, C[M, N] = A[M, K] @ B[N, K].T + R[M, N], in f16; the grid runs over columns first."""

# ruff: noqa: F821, F722, C408, B, UP, RUF
import argus as ag
from argus import f16, f32
from argus.gfx942 import mfma_16x16x16_f16 as MMA

TASK = dict(
    family="gemm",
    shapes=[dict(M=4096, N=4096, K=4096)],
    held_out=[dict(M=1024, N=1024, K=1024)],
    small=[dict(M=1024, N=1024, K=128)],
    library="matmul.py: matmul, f16, which reads no residual",
)

ROWS = MMA.operand(row="line", k="k")
OUT = MMA.acc(row="m", col="n")


@ag.kernel(
    threads=64,
    requires="M % 16 == 0 and N % 16 == 0 and K % 16 == 0",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k) + R[m, n]",
    example=dict(M=32, N=32, K=64),
)
def residual(A: ag.In["M K", f16], B: ag.In["N K", f16], R: ag.In["M N", f16], C: ag.Out["M N", f16]):
    col, row = ag.grid(N // 16, M // 16)
    acc = ag.zeros(OUT, f32)
    for t in ag.range(K // 16):
        w = B[16 * col, 16 * t].load(ROWS, width=8)
        x = A[16 * row, 16 * t].load(ROWS, width=8)
        acc = ag.mfma(x, w, acc)
    old = R[16 * row, 16 * col].load(OUT, width=2).to(f32)
    C[16 * row, 16 * col].store((acc + old).to(f16), width=2)
