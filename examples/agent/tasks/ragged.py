"""bf16 matrix product of sizes that no block divides, C = A @ B.T: one wave computes one 32 x 32 tile."""

# ruff: noqa: F821, F722, C408, B, UP, RUF
import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

TASK = dict(
    family="gemm",
    shapes=[dict(M=1000, N=1000, K=1000)],
    held_out=[dict(M=520, N=776, K=1032), dict(M=136, N=40, K=72)],
    small=[dict(M=264, N=200, K=136)],
    library="matmul.py: ragged sizes",
)

FRAG = MMA.operand(row="row", k="k")


@ag.kernel(
    threads=64,
    requires="M >= 1 and N >= 1 and K >= 8 and N % 8 == 0 and K % 8 == 0",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=40, N=72, K=72),
)
def gemm(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(ag.cdiv(M, 32), ag.cdiv(N, 32))
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    for kt in ag.range(ag.cdiv(K, 8)):
        a = A[32 * bm, 8 * kt].load(FRAG, width=8, guard="shape")
        b = B[32 * bn, 8 * kt].load(FRAG, width=8, guard="shape")
        acc = ag.mfma(a, b, acc)
    C[32 * bm, 32 * bn].store(acc.to(bf16), width=2, guard="shape")
