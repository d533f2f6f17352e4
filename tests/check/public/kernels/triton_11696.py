"""triton #11696 (gfx942, two-cluster ping-pong): the barrier comes before the fragments of the tile have arrived.

https://github.com/triton-lang/triton/issues/11696, repaired in #11765 by a barrier that waits for LDS.
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
    requires="M % 64 == 0 and N % 64 == 0 and K % 32 == 0 and K >= 32",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=64, N=64, K=64),
)
def pingpong(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(M // 64, N // 64)
    wm, wn = ag.wave()
    sA, sB = ag.shared(LDS, bf16), ag.shared(LDS, bf16)
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    steps = K // 32

    def fetch(kt):
        there = kt < steps
        ra = A[bm * 64, kt * 32].load(COPY, width=16, guard=there)
        return ra, B[bn * 64, kt * 32].load(COPY, width=16, guard=there)

    ra, rb = fetch(0)
    sA.store(ra, width=16)
    sB.store(rb, width=16)
    ag.barrier()
    for kt in ag.range(steps):
        ra, rb = fetch(kt + 1)
        a = [sA.load(FRAG, row=32 * wm, k=16 * ks, width=16) for ks in range(2)]
        b = [sB.load(FRAG, row=32 * wn, k=16 * ks, width=16) for ks in range(2)]
        ag.barrier(bare=FIXED == 0)  # the other waves may now overwrite the tile
        sA.store(ra, width=16)
        sB.store(rb, width=16)
        for ks, h in ag.unroll(2, 2):
            acc = MMA(a[ks][h], b[ks][h], acc)
        ag.barrier()
    C[bm * 64 + 32 * wm, bn * 64 + 32 * wn].store(acc.to(bf16), width=2)
