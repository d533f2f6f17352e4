"""triton #9720 (AMD): a loop pipelined over four stages with three buffers.

https://github.com/triton-lang/triton/pull/9720, repaired by one more buffer.
"""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

FIXED = ag.knob(0, legal=(0, 1), why="the repair")
AHEAD = 3
BUFFERS = 4 if FIXED else 3

LDS = ag.Layout(row=(64, 64), chunk=(4, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:2]")
COPY = ag.Owner(t=256, e=8, row="t//4", k="t%4*8 + e")
FRAG = MMA.operand(wide=8)


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires="M % 64 == 0 and N % 64 == 0 and K % 32 == 0 and K >= 96",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=64, N=64, K=160),
)
def stages(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(M // 64, N // 64)
    wm, wn = ag.wave()
    slots = ag.ring(BUFFERS, a=(LDS, bf16), b=(LDS, bf16))
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    steps = K // 32

    def fill(kt):
        slots[kt].a.store(A[bm * 64, kt * 32].load(COPY, width=16), width=16)
        slots[kt].b.store(B[bn * 64, kt * 32].load(COPY, width=16), width=16)

    for kt in ag.unroll(AHEAD):
        fill(kt)
    for kt in ag.range(steps):
        ag.barrier()
        if kt + AHEAD < steps:
            fill(kt + AHEAD)
        for ks in ag.unroll(2):
            a = slots[kt].a.load(FRAG, row=32 * wm, k=16 * ks, width=16)
            b = slots[kt].b.load(FRAG, row=32 * wn, k=16 * ks, width=16)
            for h in ag.unroll(2):
                acc = MMA(a[h], b[h], acc)
    C[bm * 64 + 32 * wm, bn * 64 + 32 * wn].store(acc.to(bf16), width=2)
