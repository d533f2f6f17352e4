"""bf16 GEMM: C[M, N] = A[M, K] @ B[N, K].T, f32 accumulation. One BM x BN tile of C per workgroup, four waves.

A k-step of both operands goes global -> registers -> LDS; every wave reads the fragments it multiplies from there.
One LDS stage and two barriers: the first says that the previous tile has been read, the second that this one is there.
"""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

BM = ag.knob(128, legal=(64, 128), why="rows of C per workgroup")
BN = ag.knob(128, legal=(64, 128), why="columns of C per workgroup")
BK = ag.knob(64, legal=(64,), why="k per step: a row of 128 bytes covers all 32 banks")

# Rows of 128 bytes. XOR of the 16-byte chunk with the row spreads the row-wise writes and the column-wise reads of the
# fragments over every bank.                                                                        axis=(extent, bytes)
LDS_A = ag.Layout(row=(BM, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:3]")
LDS_B = ag.Layout(row=(BN, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:3]")

# 8 lanes x 16 bytes move one row; 256 threads move 32 rows; p passes move a tile.
COPY_A = ag.Owner(p=BM // 32, t=256, e=8, row="p*32 + t//8", k="t%8*8 + e")
COPY_B = ag.Owner(p=BN // 32, t=256, e=8, row="p*32 + t//8", k="t%8*8 + e")

# A 16-byte read gives a lane 8 consecutive k, which feed two instructions (h). The order of k inside an instruction is
# permuted; it is right because A and B are permuted alike.                    row = lane%32, k = 8*(lane//32) + 4*h + e
FRAG = MMA.operand(wide=8)


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires="M % BM == 0 and N % BN == 0 and K % BK == 0",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=256, N=256, K=128),
)
def gemm(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(M // BM, N // BN)
    wm, wn = ag.wave()
    tm, tn = BM // 64, BN // 64  # 32x32 tiles of C per wave
    sA, sB = ag.shared(LDS_A, bf16), ag.shared(LDS_B, bf16)
    acc = ag.zeros(MMA.acc(row="n", col="m"), f32, tiles=dict(m=tm, n=tn))

    for kt in ag.range(K // BK):
        ra = A[bm * BM, kt * BK].load(COPY_A, width=16)
        rb = B[bn * BN, kt * BK].load(COPY_B, width=16)
        ag.barrier()  # tile kt-1 has been read by all waves
        sA.store(ra, COPY_A, width=16)
        sB.store(rb, COPY_B, width=16)
        ag.barrier()  # tile kt is visible to all waves
        for ks in ag.unroll(BK // 16):
            a = [sA.load(FRAG, row=32 * (tm * wm + i), k=16 * ks, width=16) for i in range(tm)]
            b = [sB.load(FRAG, row=32 * (tn * wn + j), k=16 * ks, width=16) for j in range(tn)]
            for i, j, h in ag.unroll(tm, tn, 2):
                # Operands swapped: a lane then holds 4 consecutive n, which are 8-byte stores.
                acc[i, j] = ag.mfma(b[j][h], a[i][h], acc[i, j])

    C[bm * BM + 32 * tm * wm, bn * BN + 32 * tn * wn].store(acc.to(bf16), width=8)

    ag.check.conform(ag.mfma, "K")
    ag.check.race_free(sA, sB)
