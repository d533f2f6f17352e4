"""A gradient of weights, C = A.T @ B: both operands are stored by k, A[K, M] and B[K, N]."""

# ruff: noqa: F821, F722, C408, B, UP, RUF
import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

TASK = dict(
    family="gemm",
    shapes=[dict(M=4096, N=4096, K=4096)],
    held_out=[dict(M=512, N=3072, K=1024)],
    small=[dict(M=512, N=1024, K=128)],
    library="matmul.py: matmul, A_T, B_T",
)

LEFT = MMA.operand(row="M", k="K")
RIGHT = MMA.operand(row="N", k="K")


@ag.kernel(
    threads=64,
    requires="M % 32 == 0 and N % 32 == 0 and K % 8 == 0",
    computes="C[m, n] = sum(A[k, m] * B[k, n], k)",
    example=dict(M=64, N=64, K=64),
)
def weights(A: ag.In["K M", bf16], B: ag.In["K N", bf16], C: ag.Out["M N", bf16]):
    x, y = ag.grid(M // 32, N // 32)
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    for s in ag.range(K // 8):
        p = A[8 * s, 32 * x].load(LEFT, width=2)
        q = B[8 * s, 32 * y].load(RIGHT, width=2)
        acc = ag.mfma(p, q, acc)
    C[32 * x, 32 * y].store(acc.to(bf16), width=2)
