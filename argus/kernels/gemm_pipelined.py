"""bf16 GEMM, pipelined: C[M, N] = A[M, K] @ B[N, K].T with 256 x 256 x 64 tiles, 4 or 8 waves.

A tile of both operands fills the LDS, so there is one LDS stage and one stage in registers: while the matrix
instructions of tile kt run, the fragments of its later parts are read, tile kt + 1 goes from registers to LDS and tile
kt + 2 is fetched into those registers.
"""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

WAVES = ag.knob(4, legal=(4, 8), why="4: one wave per SIMD with 512 registers; 8: two with 256")
BM, BN, BK = 256, 256, 64  # both operands of one step fill the 64 KiB of LDS

# Rows of 128 bytes; XOR of the 16-byte chunk with the row keeps writes and fragment reads free of bank conflicts.
LDS = ag.Layout(row=(256, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:3]")
COPY = ag.Owner(p=256 // (8 * WAVES), t=64 * WAVES, e=8, row=f"p*{8 * WAVES} + t//8", k="t%8*8 + e")
FRAG = MMA.operand(wide=8)  # 8 consecutive k per lane feed two instructions
TM, TN = 4, 16 // WAVES  # 32x32 tiles of C per wave: 128 rows, 128 or 64 columns


@ag.kernel(
    threads=64 * WAVES,
    waves=(2, WAVES // 2),
    requires="M % 256 == 0 and N % 256 == 0 and K % 64 == 0 and K >= 64",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=256, N=256, K=256),
)
def gemm(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(M // BM, N // BN)
    wm, wn = ag.wave()
    sA, sB = ag.shared(LDS, bf16), ag.shared(LDS, bf16)
    acc = ag.zeros(MMA.acc(row="n", col="m"), f32, tiles=dict(m=TM, n=TN))
    tiles = K // BK

    def fetch(kt):
        there = kt < tiles  # past the last tile nothing is read: the registers get zeros nobody uses
        ra = A[bm * BM, kt * BK].load(COPY, width=16, guard=there)
        rb = B[bn * BN, kt * BK].load(COPY, width=16, guard=there)
        return ra, rb

    def read_a(ks):
        return [sA.load(FRAG, row=32 * (TM * wm + i), k=16 * ks, width=16) for i in range(TM)]

    def read_b(ks):
        return [sB.load(FRAG, row=32 * (TN * wn + j), k=16 * ks, width=16) for j in range(TN)]

    def multiply(a, b):
        for h, j, i in ag.unroll(2, TN, TM):
            acc[i, j] = ag.mfma(b[j][h], a[i][h], acc[i, j])

    ra, rb = fetch(0)
    sA.store(ra, COPY, width=16)
    sB.store(rb, COPY, width=16)
    ra, rb = fetch(1)
    ag.barrier()
    a0, b0 = read_a(0), read_b(0)
    for kt in ag.range(tiles - 1):
        with ag.schedule(mfma=2, ds_read=1):  # two matrix instructions hide one 16-byte read
            a1, b1, a2 = read_a(1), read_b(1), read_a(2)
            multiply(a0, b0)
        with ag.schedule(mfma=2, ds_read=1):
            b2, a3, b3 = read_b(2), read_a(3), read_b(3)
            multiply(a1, b1)
        ag.barrier()  # tile kt has been read
        with ag.schedule(mfma=2, ds_write=1, buffer_load=1):
            sA.store(ra, COPY, width=16)
            sB.store(rb, COPY, width=16)
            ra, rb = fetch(kt + 2)
            multiply(a2, b2)
        ag.barrier()  # tile kt + 1 is there
        with ag.schedule(mfma=2, ds_read=1):
            a0, b0 = read_a(0), read_b(0)
            multiply(a3, b3)
    for ks in ag.unroll(4):
        multiply(a0, b0)
        if ks < 3:
            a0, b0 = read_a(ks + 1), read_b(ks + 1)

    C[bm * BM + 32 * TM * wm, bn * BN + 32 * TN * wn].store(acc.to(bf16), width=8)
