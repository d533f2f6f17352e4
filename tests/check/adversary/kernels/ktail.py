"""A GEMM whose K need not be a multiple of the step: the tail of a row must read zeros, not the next row."""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

CASE = ag.knob(0, legal=tuple(range(8)), why="which variant")

LDS = ag.Layout(row=(64, 64), chunk=(4, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:2]")
COPY = ag.Owner(t=256, e=8, row="t//4", k="t%4*8 + e")
FRAG = MMA.operand(wide=8)


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires="M % 64 == 0 and N % 64 == 0 and K % 8 == 0 and K >= 8",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=64, N=64, K=40),
)
def ktail(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(M // 64, N // 64)
    wm, wn = ag.wave()
    sA, sB = ag.shared(LDS, bf16), ag.shared(LDS, bf16)
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    steps = K // 32 if CASE == 4 else ag.cdiv(K, 32)

    def fetch(kt):
        a, b = A[bm * 64, kt * 32], B[bn * 64, kt * 32]
        if CASE == 0 or CASE == 4:
            inside = lambda row, k: kt * 32 + k < K
            return a.load(COPY, width=16, guard=inside), b.load(COPY, width=16, guard=inside)
        if CASE == 1:
            return a.load(COPY, width=16, guard="shape"), b.load(COPY, width=16, guard="shape")
        if CASE == 2:
            return a.load(COPY, width=16), b.load(COPY, width=16)
        if CASE == 3:
            halved = lambda row, k: kt * 32 + k < K // 2
            return a.load(COPY, width=16, guard=halved), b.load(COPY, width=16, guard=halved)
        if CASE == 5:
            edge = lambda row, k: kt * 32 + k <= K
            return a.load(COPY, width=16, guard=edge), b.load(COPY, width=16, guard=edge)
        if CASE == 6:
            whole = kt * 32 < K
            return a.load(COPY, width=16, guard=whole), b.load(COPY, width=16, guard=whole)
        local = lambda row, k: k < K - kt * 32
        return a.load(COPY, width=16, guard=local), b.load(COPY, width=16, guard=local)

    for kt in ag.range(steps):
        ra, rb = fetch(kt)
        ag.barrier()
        sA.store(ra, width=16)
        sB.store(rb, width=16)
        ag.barrier()
        for ks in ag.unroll(2):
            a = sA.load(FRAG, row=32 * wm, k=16 * ks, width=16)
            b = sB.load(FRAG, row=32 * wn, k=16 * ks, width=16)
            for h in ag.unroll(2):
                acc = MMA(a[h], b[h], acc)
    C[bm * 64 + 32 * wm, bn * 64 + 32 * wn].store(acc.to(bf16), width=2)
