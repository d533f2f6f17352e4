"""Matrix product of 8 waves in opposite phases: C = A @ B.T, bf16.

256 x 256 x 32 tiles and a ring of two LDS slots. A step reads its fragments, stores the next tile to LDS and fetches
the one after that; barrier; then nothing but matrix instructions, at high priority; barrier. In phase, the matrix units
rest while all waves read and store. With OPPOSITE the second half of the waves is one barrier behind: every SIMD has
one wave in either part. `python -m bench.opposite` says what that is worth; the library's kernels interleave instead.
"""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

OPPOSITE = ag.knob(True, legal=(False, True), why="halves of the waves one part apart")
PRIORITY = ag.knob(True, legal=(False, True), why="matrix instructions first")
BK = 32
LDS = ag.Layout(row=(256, 64), chunk=(4, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[1:3]")
COPY = ag.Owner(p=2, t=512, e=8, row="p*128 + t//4", k="t%4*8 + e")
FRAG = MMA.operand(wide=8)
ACC = MMA.acc(row="n", col="m")


@ag.kernel(
    threads=512,
    waves=(2, 4),
    requires="M % 256 == 0 and N % 2048 == 0 and K % 64 == 0",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=256, N=2048, K=256),
    policy=dict(waves_per_simd=2),
)
def gemm(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    y, z, x = ag.grid(M // 256, N // 2048, 8)
    bm, bn = y, z * 8 + x
    wm, wn = ag.wave()
    ring = ag.ring(2, a=(LDS, bf16), b=(LDS, bf16))
    acc = ag.zeros(ACC, f32, tiles=dict(m=4, n=2))

    def fetch(kt):
        inside = kt < K // BK
        a = A[256 * bm, BK * kt].load(COPY, width=16, guard=inside)
        return a, B[256 * bn, BK * kt].load(COPY, width=16, guard=inside)

    def put(slot, staged):
        a, b = staged
        ring[slot].a.store(a, width=16)
        ring[slot].b.store(b, width=16)

    def step(kt, u, staged, acc):
        a = [ring[u].a.load(FRAG, row=128 * wm + 32 * i, k=16 * ks, width=16) for i in range(4) for ks in range(2)]
        b = [ring[u].b.load(FRAG, row=64 * wn + 32 * j, k=16 * ks, width=16) for j in range(2) for ks in range(2)]
        put(1 - u, staged)
        staged = fetch(kt + 2)
        ag.barrier()
        if PRIORITY:
            ag.setprio(1)
        for ks, h, j, i in ag.unroll(2, 2, 2, 4):
            acc[i, j] = ag.mfma(b[2 * j + ks][h], a[2 * i + ks][h], acc[i, j])
        if PRIORITY:
            ag.setprio(0)
        ag.barrier()
        return staged, acc

    def steps(staged, acc):
        for turn in ag.range(K // (2 * BK)):
            staged, acc = step(2 * turn, 0, staged, acc)
            staged, acc = step(2 * turn + 1, 1, staged, acc)
        return acc

    put(0, fetch(0))
    staged = fetch(1)
    ag.barrier()
    if OPPOSITE:
        with ag.opposite():
            acc = steps(staged, acc)
    else:
        acc = steps(staged, acc)
    C[256 * bm + 128 * wm, 256 * bn + 64 * wn].store(acc.to(bf16), width=8)
