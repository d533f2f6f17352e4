"""bf16 matrix product C[M, N] = A[M, K] @ B[N, K].T, as plain as it gets: one wave computes one 32 x 32 tile of C.

Every turn of the loop loads the two fragments of one matrix instruction from global memory and multiplies them.
"""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

TASK = dict(
    family="gemm",
    shapes=[dict(M=4096, N=4096, K=4096)],
    held_out=[dict(M=512, N=3072, K=1024)],
    small=[dict(M=512, N=1024, K=128)],
    specials=True,
    published=dict(source="hipBLASLt, Lumen artifact re-run", tflops=613.1),
    library="matmul.py",
)

FRAG = MMA.operand(row="row", k="k")


@ag.kernel(
    threads=64,
    requires="M % 32 == 0 and N % 32 == 0 and K % 8 == 0",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=64, N=64, K=64),
)
def gemm(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(M // 32, N // 32)
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    for kt in ag.range(K // 8):
        a = A[32 * bm, 8 * kt].load(FRAG, width=8)
        b = B[32 * bn, 8 * kt].load(FRAG, width=8)
        acc = ag.mfma(a, b, acc)
    C[32 * bm, 32 * bn].store(acc.to(bf16), width=2)
