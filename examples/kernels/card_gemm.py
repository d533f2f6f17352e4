import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

LDS = ag.Layout(row=(128, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:3]")
COPY = ag.Owner(p=4, t=256, e=8, row="p*32 + t//8", k="t%8*8 + e")  # 8 lanes x 16 bytes are a row of 64 k
FRAG = MMA.operand(wide=8)  # a lane reads 8 consecutive k, for two instructions: frag[h]


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires="M % 128 == 0 and N % 128 == 0 and K % 64 == 0 and K >= 64",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=256, N=256, K=128),
)
def gemm(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", bf16]):
    bm, bn = ag.grid(M // 128, N // 128)
    wm, wn = ag.wave()
    sA, sB = ag.shared(LDS, bf16), ag.shared(LDS, bf16)
    acc = ag.zeros(MMA.acc(row="n", col="m"), f32, tiles=dict(m=2, n=2))

    def fetch(kt):
        there = kt < K // 64  # past the end nothing is read: a guard, not an `if`
        a = A[128 * bm, 64 * kt].load(COPY, width=16, guard=there)
        b = B[128 * bn, 64 * kt].load(COPY, width=16, guard=there)
        return a, b

    ra, rb = fetch(0)
    for kt in ag.range(K // 64):
        ag.barrier()  # tile kt - 1 has been read by all waves
        sA.store(ra, COPY, width=16)
        sB.store(rb, COPY, width=16)
        ra, rb = fetch(kt + 1)  # in flight during the products
        ag.barrier()  # tile kt is visible to all waves
        for ks in ag.unroll(4):
            a = [sA.load(FRAG, row=64 * wm + 32 * i, k=16 * ks, width=16) for i in range(2)]
            b = [sB.load(FRAG, row=64 * wn + 32 * j, k=16 * ks, width=16) for j in range(2)]
            for i, j, h in ag.unroll(2, 2, 2):
                acc[i, j] = ag.mfma(b[j][h], a[i][h], acc[i, j])  # swapped: a lane holds 4 neighboring n
    C[128 * bm + 64 * wm, 128 * bn + 64 * wn].store(acc.to(bf16), width=8)
    ag.check.race_free(sA, sB)
    ag.check.bank_free(sA, sB)
