"""Split-K GEMM: each workgroup multiplies a slice of K and adds its part to C with atomics. C must be zero before."""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

SPLITS = ag.knob(4, legal=(1, 2, 4, 8), why="workgroups that share a tile of C")
ROWS = ag.Layout(row=(64, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:3]")
COPY = ag.Owner(p=2, t=256, e=8, row="p*32 + t//8", k="t%8*8 + e")
FRAG = MMA.operand(wide=8)


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires=f"M % 64 == 0 and N % 64 == 0 and K % {64 * SPLITS} == 0",
    example=dict(M=64, N=128, K=512),
)
def splitk(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.InOut["M N", f32]):
    s, bm, bn = ag.grid(SPLITS, M // 64, N // 64)
    wm, wn = ag.wave()
    sA, sB = ag.shared(ROWS, bf16), ag.shared(ROWS, bf16)
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    steps = K // (64 * SPLITS)
    for kt in ag.range(s * steps, (s + 1) * steps):
        ra, rb = A[bm * 64, kt * 64].load(COPY, width=16), B[bn * 64, kt * 64].load(COPY, width=16)
        ag.barrier()
        sA.store(ra, width=16)
        sB.store(rb, width=16)
        ag.barrier()
        for ks in ag.unroll(4):
            a = sA.load(FRAG, row=32 * wm, k=16 * ks, width=16)
            b = sB.load(FRAG, row=32 * wn, k=16 * ks, width=16)
            for h in ag.unroll(2):
                acc = ag.mfma(a[h], b[h], acc)
    C[bm * 64 + 32 * wm, bn * 64 + 32 * wn].atomic_add(acc)
    ag.check.conform(ag.mfma, "K")
