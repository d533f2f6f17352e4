"""A plain GEMM with one LDS stage, and the ways to get it slightly wrong."""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

CASE = ag.knob(0, legal=tuple(range(17)), why="which variant")

LDS = ag.Layout(row=(64, 64), chunk=(4, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:2]")
COPY = ag.Owner(t=256, e=8, row="t//4", k="t%4*8 + e")
FRAG = MMA.operand(wide=8)
TURNED = ag.Owner(lane=64, h=2, e=4, row="lane%32", k="8*(1 - lane//32) + 4*h + e")
NEIGHBOUR = ag.Owner(lane=64, h=2, e=4, row="(lane^1)%32", k="8*(lane//32) + 4*h + e")
NARROW = MMA.operand()


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires="M % 64 == 0 and N % 64 == 0 and K % 32 == 0 and K >= 64",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=64, N=64, K=64),
)
def gemm(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(M // 64, N // 64)
    wm, wn = ag.wave()
    sA, sB = ag.shared(LDS, bf16), ag.shared(LDS, bf16)
    steps = K // 32
    swapped = CASE == 1
    if swapped:
        acc = ag.zeros(MMA.acc(row="n", col="m"), f32)
    else:
        acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    first = 1 if CASE == 6 else 0
    last = steps + 1 if CASE == 7 else steps
    for kt in ag.range(first, last):
        ka = kt - kt % 2 if CASE == 8 else kt
        kb = kt - kt % 2 if CASE in (8, 9) else kt
        ra = A[bm * 64, ka * 32].load(COPY, width=16)
        rb = B[bn * 64, kb * 32].load(COPY, width=16)
        if CASE != 3:
            ag.barrier()
        sA.store(ra, width=16)
        if CASE == 15:
            ag.barrier()
        sB.store(rb, width=16)
        if CASE == 11:
            ag.barrier(bare=True)
        elif CASE not in (4, 15):
            ag.barrier()
        if CASE == 2:
            ag.barrier()
            ag.setprio(1)
        for ks in ag.unroll(2):
            wa = wn if CASE == 10 else wm
            fa = TURNED if CASE in (13, 14) else NEIGHBOUR if CASE == 12 else FRAG
            fb = TURNED if CASE == 13 else FRAG
            a = sA.load(fa, row=32 * wa, k=16 * ks, width=16)
            b = sB.load(fb, row=32 * wn, k=16 * ks, width=16)
            for h in ag.unroll(2):
                if CASE == 5:
                    narrow = sB.load(NARROW, row=32 * wn, k=16 * ks + 8 * h, width=8)
                    acc = MMA(a[h], narrow, acc)
                elif swapped:
                    acc = MMA(b[h], a[h], acc)
                else:
                    acc = MMA(a[h], b[1 - h if CASE == 16 else h], acc)
        if CASE == 2:
            ag.setprio(0)
    C[bm * 64 + 32 * wm, bn * 64 + 32 * wn].store(acc.to(bf16), width=8 if swapped else 2)
