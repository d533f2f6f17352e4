"""A product of fp8 matrices with one scale per 128 of K, as plain as it gets: 32 x 32 per wave.

C[M, N] = A[M, K] @ B[N, K].T with a scale per row of A and per 128 rows of B in each block of 128 along K. Every turn
of the loop takes one such block: fragments straight from global memory, products into a sum of their own, scaled into
the result.
"""

import argus as ag
from argus import bf16, f32, fp8
from argus.gfx942 import mfma_32x32x16_fp8_fp8 as MMA

TASK = dict(
    family="moe",
    shapes=[dict(M=4096, N=4096, K=7168, KB=56, NB=32)],
    held_out=[dict(M=512, N=3072, K=1024, KB=8, NB=24)],
    small=[dict(M=512, N=1024, K=256, KB=2, NB=8)],
    library="fp8_gemm.py: fp8_matmul, which takes B arranged for its loads",
)

FRAG = MMA.operand(row="row", k="k")
ACC = MMA.acc(row="m", col="n")
ONE = ag.Owner(lane=64, z="lane*0")


@ag.kernel(
    threads=64,
    requires="M % 32 == 0 and N % 32 == 0 and K % 128 == 0 and KB == K // 128 and NB == (N + 127) // 128",
    computes="C[m, n] = sum(A[m, k] * SA[m, k // 128] * B[n, k] * SB[n // 128, k // 128], k)",
    example=dict(M=64, N=64, K=256, KB=2, NB=1),
)
def block_scaled(
    A: ag.In["M K", fp8],
    SA: ag.In["M KB", f32],
    B: ag.In["N K", fp8],
    SB: ag.In["NB KB", f32],
    C: ag.Out["M N", bf16],
):
    bm, bn = ag.grid(M // 32, N // 32)
    acc = ag.zeros(ACC, f32)
    for kb in ag.range(K // 128):
        a = A[32 * bm, 128 * kb].load(FRAG, tiles=dict(k=8), width=8)
        b = B[32 * bn, 128 * kb].load(FRAG, tiles=dict(k=8), width=8)
        sa = SA[32 * bm, kb].load(ACC.per("m"), width=4)
        sb = SB[32 * bn // 128, kb].load(ONE, width=4)
        part = ag.zeros(ACC, f32)
        for ks in ag.unroll(8):
            part = ag.mfma(a[ks], b[ks], part)
        acc = acc + part * (sa * sb.without("z"))
    C[32 * bm, 32 * bn].store(acc.to(bf16), width=2)
