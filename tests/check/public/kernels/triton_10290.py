"""triton #10290 (gfx942, kPack > 1): the two operands advance along K differently.

https://github.com/triton-lang/triton/pull/10290: k = 8*half + 4*h + e in one operand, 8*h + 4*half + e in the other.
"""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

FIXED = ag.knob(0, legal=(0, 1), why="the repair")

WIDE, NARROW = MMA.operand(wide=8), MMA.operand()


@ag.kernel(
    threads=64,
    requires="M % 32 == 0 and N % 32 == 0 and K % 16 == 0 and K >= 16",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=32, N=32, K=16),
)
def kwidth(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", f32]):
    bm, bn = ag.grid(M // 32, N // 32)
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    for ks in ag.range(K // 16):
        a = A[bm * 32, 16 * ks].load(WIDE, width=16)
        b = B[bn * 32, 16 * ks].load(WIDE, width=16)
        for h in ag.unroll(2):
            if FIXED:
                acc = MMA(a[h], b[h], acc)
            else:
                acc = MMA(a[h], B[bn * 32, 16 * ks + 8 * h].load(NARROW, width=8), acc)
    C[bm * 32, bn * 32].store(acc, width=4)
