"""A GEMM pipelined through a ring of LDS slots."""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

CASE = ag.knob(0, legal=tuple(range(13)), why="which variant")

LDS = ag.Layout(row=(64, 64), chunk=(4, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:2]")
COPY = ag.Owner(t=256, e=8, row="t//4", k="t%4*8 + e")
FRAG = MMA.operand(wide=8)
DEPTH = 3 if CASE in (1, 9) else 2
AHEAD = 2 if CASE in (1, 2) else 3 if CASE == 9 else 1


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires="M % 64 == 0 and N % 64 == 0 and K % 32 == 0 and K >= 128",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=64, N=64, K=128),
)
def ring(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(M // 64, N // 64)
    wm, wn = ag.wave()
    slots = ag.ring(DEPTH, a=(LDS, bf16), b=(LDS, bf16))
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    steps = K // 32

    def fill(slot, kt):
        there = kt < steps
        slot.a.store(A[bm * 64, kt * 32].load(COPY, width=16, guard=there), width=16)
        slot.b.store(B[bn * 64, kt * 32].load(COPY, width=16, guard=there), width=16)

    for j in ag.unroll(AHEAD):
        fill(slots[j + 1 if CASE == 5 else j], j)
    for j in ag.range(steps):
        if CASE == 8:
            if j % 2 == 0:
                ag.barrier()
        elif CASE != 4:
            ag.barrier()
        if CASE == 7:
            fill(slots[j + AHEAD], j + AHEAD)
        elif CASE == 6:
            if j + AHEAD < steps - 1:
                fill(slots[j + AHEAD], j + AHEAD)
        elif CASE == 10:
            if j + AHEAD < steps:
                fill(slots[j + AHEAD], j)
        elif CASE == 11:
            if j + AHEAD < steps:
                fill(slots[j], j + AHEAD)
        else:
            if j + AHEAD < steps:
                fill(slots[j + AHEAD], j + AHEAD)
        here = slots[j + 1] if CASE == 3 else slots[j + 2] if CASE == 12 else slots[j]
        for ks in ag.unroll(2):
            a = here.a.load(FRAG, row=32 * wm, k=16 * ks, width=16)
            b = here.b.load(FRAG, row=32 * wn, k=16 * ks, width=16)
            for h in ag.unroll(2):
                acc = MMA(a[h], b[h], acc)
    C[bm * 64 + 32 * wm, bn * 64 + 32 * wn].store(acc.to(bf16), width=2)
