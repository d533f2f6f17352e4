"""fp8 product with one scale per 128 of K: C[m, n] = sum of A·B, every 128-block of K times its two scales.

The products of a block go into an accumulator of their own, which is scaled into the sum.
"""

import argus as ag
from argus import f32, fp8
from argus.gfx942 import mfma_32x32x16_fp8_fp8 as MMA

LDS = ag.Layout(row=(64, 128), chunk=(8, 16), e=(16, 1), k=("chunk", "e")).xor(chunk="row[0:3]")
COPY = ag.Owner(p=2, t=256, e=16, row="p*32 + t//8", k="t%8*16 + e")
FRAG = MMA.operand(wide=16)
ACC = MMA.acc(row="n", col="m")
ALL = ag.Owner(t=256, z="t*0")


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires="M % 64 == 0 and N % 64 == 0 and K % 128 == 0 and KB == K // 128 and NB == (N + 127) // 128",
    computes="C[m, n] = sum(A[m, k] * SA[m, k // 128] * B[n, k] * SB[n // 128, k // 128], k)",
    example=dict(M=128, N=192, K=384, KB=3, NB=2),
)
def blockscale(
    A: ag.In["M K", fp8],
    SA: ag.In["M KB", f32],
    B: ag.In["N K", fp8],
    SB: ag.In["NB KB", f32],
    C: ag.Out["M N", f32],
):
    bm, bn = ag.grid(M // 64, N // 64)
    wm, wn = ag.wave()
    sA, sB = ag.shared(LDS, fp8), ag.shared(LDS, fp8)
    acc = ag.zeros(ACC, f32)
    for kb in ag.range(K // 128):
        ra = A[bm * 64, kb * 128].load(COPY, width=16)
        rb = B[bn * 64, kb * 128].load(COPY, width=16)
        sa = SA[bm * 64 + 32 * wm, kb].load(ACC.per("m"), width=4)
        sb = SB[bn // 2, kb].load(ALL, width=4)
        ag.barrier()
        sA.store(ra, COPY, width=16)
        sB.store(rb, COPY, width=16)
        ag.barrier()
        part = ag.zeros(ACC, f32)
        for ks in ag.unroll(4):
            a = sA.load(FRAG, row=32 * wm, k=32 * ks, width=16)
            b = sB.load(FRAG, row=32 * wn, k=32 * ks, width=16)
            for h in ag.unroll(2):
                part = ag.mfma(b[h], a[h], part)
        acc = acc + part * (sa * sb.without("z"))
    C[bm * 64 + 32 * wm, bn * 64 + 32 * wn].store(acc, width=16)
    ag.check.conform(ag.mfma, "K")
