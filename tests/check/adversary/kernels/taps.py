"""A convolution's sum over taps and channels in one accumulator, one prefetching loop per tap."""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

CASE = ag.knob(0, legal=tuple(range(2)), why="which variant")

LDS = ag.Layout(row=(64, 64), chunk=(4, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:2]")
COPY = ag.Owner(t=256, e=8, row="t//4", k="t%4*8 + e")
FRAG = MMA.operand(wide=8)


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires="M % 64 == 0 and N % 64 == 0 and K % 32 == 0 and K >= 32",
    computes="C[m, n] = sum(sum(A[r, m, k] * B[r, n, k], k), r)",
    example=dict(M=64, N=64, K=64),
)
def taps(A: ag.In["R=2 M K", bf16], B: ag.In["R=2 N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(M // 64, N // 64)
    wm, wn = ag.wave()
    sA, sB = ag.shared(LDS, bf16), ag.shared(LDS, bf16)
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    steps = K // 32

    def multiply(acc):
        for ks in ag.unroll(2):
            a = sA.load(FRAG, row=32 * wm, k=16 * ks, width=16)
            b = sB.load(FRAG, row=32 * wn, k=16 * ks, width=16)
            for h in ag.unroll(2):
                acc = MMA(a[h], b[h], acc)
        return acc

    for r in ag.unroll(2):
        if CASE == 0:
            ag.barrier()
        sA.store(A[r, bm * 64].load(COPY, width=16), width=16)
        sB.store(B[r, bn * 64].load(COPY, width=16), width=16)
        for kt in ag.range(steps - 1):
            ra = A[r, bm * 64, 32 * (kt + 1)].load(COPY, width=16)
            rb = B[r, bn * 64, 32 * (kt + 1)].load(COPY, width=16)
            ag.barrier()
            acc = multiply(acc)
            ag.barrier()
            sA.store(ra, width=16)
            sB.store(rb, width=16)
        ag.barrier()
        acc = multiply(acc)
    C[bm * 64 + 32 * wm, bn * 64 + 32 * wn].store(acc.to(bf16), width=2)
