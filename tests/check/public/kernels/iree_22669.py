"""iree #22669 (MI300X, 13 % of runs differ): a prefetching loop inside another; its prologue stores to LDS at once.

https://github.com/iree-org/iree/pull/22669, repaired by a barrier before the prologue's store.
"""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

FIXED = ag.knob(0, legal=(0, 1), why="the repair")

LDS = ag.Layout(row=(64, 64), chunk=(4, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:2]")
COPY = ag.Owner(t=256, e=8, row="t//4", k="t%4*8 + e")
FRAG = MMA.operand(wide=8)


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires="M % 64 == 0 and N % 64 == 0 and K % 64 == 0 and K >= 64",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=64, N=64, K=128),
)
def taps(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(M // 64, N // 64)
    wm, wn = ag.wave()
    sA, sB = ag.shared(LDS, bf16), ag.shared(LDS, bf16)
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)

    def publish(kt):
        sA.store(A[bm * 64, 32 * kt].load(COPY, width=16), width=16)
        sB.store(B[bn * 64, 32 * kt].load(COPY, width=16), width=16)

    def multiply(acc):
        for ks in ag.unroll(2):
            a = sA.load(FRAG, row=32 * wm, k=16 * ks, width=16)
            b = sB.load(FRAG, row=32 * wn, k=16 * ks, width=16)
            for h in ag.unroll(2):
                acc = MMA(a[h], b[h], acc)
        return acc

    for r in ag.range(K // 64):
        if FIXED:
            ag.barrier()
        publish(2 * r)  # prologue of the inner loop, which has two tiles
        ag.barrier()
        acc = multiply(acc)
        ag.barrier()
        publish(2 * r + 1)
        ag.barrier()
        acc = multiply(acc)
    C[bm * 64 + 32 * wm, bn * 64 + 32 * wn].store(acc.to(bf16), width=2)
