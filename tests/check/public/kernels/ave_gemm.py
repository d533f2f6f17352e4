"""The published Ave GEMM: K % 64 == 0 is required, the loop takes two tiles of 64 per turn and stops before the last.

https://github.com/causalflow-ai/avelang (python/avelang_kernels/amdgpu_gemm.py): for an odd number of tiles the last
one is never multiplied.
"""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

FIXED = ag.knob(0, legal=(0, 1), why="the repair")
MULTIPLE = 128 if FIXED else 64

LDS = ag.Layout(row=(64, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:3]")
COPY = ag.Owner(p=2, t=256, e=8, row="p*32 + t//8", k="t%8*8 + e")
FRAG = MMA.operand(wide=8)


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires="M % 64 == 0 and N % 64 == 0 and K % MULTIPLE == 0 and K >= 128",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=64, N=64, K=128),
)
def gemm(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(M // 64, N // 64)
    wm, wn = ag.wave()
    sA, sB = ag.shared(LDS, bf16), ag.shared(LDS, bf16)
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)

    def tile(acc, kt):
        ra, rb = A[bm * 64, kt * 64].load(COPY, width=16), B[bn * 64, kt * 64].load(COPY, width=16)
        ag.barrier()
        sA.store(ra, width=16)
        sB.store(rb, width=16)
        ag.barrier()
        for ks in ag.unroll(4):
            a = sA.load(FRAG, row=32 * wm, k=16 * ks, width=16)
            b = sB.load(FRAG, row=32 * wn, k=16 * ks, width=16)
            for h in ag.unroll(2):
                acc = MMA(a[h], b[h], acc)
        return acc

    for kt in ag.range(0, K // 64 - 1, 2):
        acc = tile(tile(acc, kt), kt + 1)
    C[bm * 64 + 32 * wm, bn * 64 + 32 * wn].store(acc.to(bf16), width=2)
