"""A layer, relu(A[M, K] @ B[K, N] + bias): the second operand lies the other way, a bias and a clamp follow."""

# ruff: noqa: F821, F722, C408, B, UP, RUF
import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

TASK = dict(
    family="gemm",
    shapes=[dict(M=4096, N=4096, K=4096)],
    held_out=[dict(M=512, N=3072, K=1024)],
    small=[dict(M=512, N=1024, K=128)],
    library="matmul.py: linear, B_T, ACT=relu",
)

LEFT = MMA.operand(row="M", k="K")
RIGHT = MMA.operand(row="N", k="K")
ACC = MMA.acc(row="m", col="n")


@ag.kernel(
    threads=64,
    requires="M % 32 == 0 and N % 32 == 0 and K % 8 == 0",
    computes="C[m, n] = maximum(sum(A[m, k] * B[k, n], k) + bias[n], 0)",
    example=dict(M=64, N=64, K=64),
)
def linear(A: ag.In["M K", bf16], B: ag.In["K N", bf16], bias: ag.In["N", bf16], C: ag.Out["M N", bf16]):
    i, j = ag.grid(M // 32, N // 32)
    total = ag.zeros(ACC, f32)
    for step in ag.range(K // 8):
        right = B[8 * step, j * 32].load(RIGHT, width=2)
        left = A[i * 32, 8 * step].load(LEFT, width=8)
        total = ag.mfma(left, right, total)
    shift = bias[j * 32].load(ACC.per("n"), width=2).to(f32)
    C[i * 32, j * 32].store(ag.max(total + shift, 0.0).to(bf16), width=2)
