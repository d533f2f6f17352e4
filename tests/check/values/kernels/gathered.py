"""One stage of a mixture of experts: rows looked up by sorted token, the weights of the block's expert, block scales.

Weights are stored in tiles of 32 columns by 16 of K, as matrix instructions read them; gate and up are two planes.
"""

import argus as ag
from argus import LOG2E, bf16, f32, fp8, i32
from argus.gfx942 import mfma_32x32x16_fp8_fp8 as MMA

BM = 64
LDS = ag.Layout(row=(BM, 128), chunk=(8, 16), e=(16, 1), k=("chunk", "e")).xor(chunk="row[0:3]")
PART = ag.Owner(t=256, e=16, k="t%8*16 + e")
ROW_OF = ag.Owner(t=256, r="t//8")
ONE = ag.Owner(t=256, z="t*0")
FRAG = MMA.operand(wide=16)
WEIGHTS = ag.Owner(lane=64, h=2, e=8, c="lane//32", r="lane%32", q="h*8 + e")
ACC = MMA.acc(row="n", col="m")


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires="M % 64 == 0 and P == M // 64 and N % 64 == 0 and K % 128 == 0 and KB == K // 128 and KC == K // 16"
    " and NB == (N + 127) // 128 and NT == N // 32",
    computes="H[m, n] = sum(X[token[m], k] * SX[token[m], k // 128]"
    " * W[expert[m // 64], 0, n // 32, k // 16, n % 32, k % 16] * SW[expert[m // 64], 0, n // 128, k // 128], k)"
    " / (1 + exp(-sum(X[token[m], k] * SX[token[m], k // 128] * W[expert[m // 64], 0, n // 32, k // 16, n % 32, k % 16]"
    " * SW[expert[m // 64], 0, n // 128, k // 128], k)))"
    " * sum(X[token[m], k] * SX[token[m], k // 128] * W[expert[m // 64], 1, n // 32, k // 16, n % 32, k % 16]"
    " * SW[expert[m // 64], 1, n // 128, k // 128], k)",
    example=dict(T=40, K=256, KB=2, KC=16, E=3, N=192, NB=2, NT=6, M=128, P=2),
)
def gathered(
    X: ag.In["T K", fp8],
    SX: ag.In["T KB", f32],
    W: ag.In["E two=2 NT KC r=32 q=16", fp8],
    SW: ag.In["E two=2 NB KB", f32],
    token: ag.In["M", i32],
    expert: ag.In["P", i32],
    H: ag.Out["M N", bf16],
):
    bm, bn = ag.grid(M // BM, N // 64)
    wm, wn = ag.wave()
    sX = ag.shared(LDS, fp8)
    e = ag.as_index(expert[bm].load(ONE, width=4), 0, E - 1, name="expert")
    rows = [ag.as_index(token[bm * BM + 32 * p].load(ROW_OF, width=4), 0, T, name=f"row{p}") for p in range(2)]
    mine = ag.as_index(token[bm * BM + 32 * wm].load(ACC.per("m"), width=4), 0, T, name="mine")
    sums = [ag.zeros(ACC, f32), ag.zeros(ACC, f32)]
    for kb in ag.range(K // 128):
        x = [X[rows[p], kb * 128].load(PART, width=16) for p in range(2)]
        sx = SX[mine, kb].load(ONE, width=4).without()
        ag.barrier()
        for p in ag.unroll(2):
            sX.store(x[p], row=32 * p + ag.thread() // 8, width=16)
        ag.barrier()
        for g in ag.unroll(2):
            sw = SW[e, g, bn // 2, kb].load(ONE, width=4).without()
            part = ag.zeros(ACC, f32)
            for ks in ag.unroll(4):
                w = W[e, g, 2 * bn + wn, 8 * kb + 2 * ks].load(WEIGHTS, width=16).held_as(FRAG)
                a = sX.load(FRAG, row=32 * wm, k=32 * ks, width=16)
                for h in ag.unroll(2):
                    part = ag.mfma(w[h], a[h], part)
            sums[g] = ag.fma(part, sx * sw, sums[g])
    gate, up = sums
    H[bm * BM + 32 * wm, bn * 64 + 32 * wn].store((gate * ag.rcp(1.0 + ag.exp2(gate * -LOG2E)) * up).to(bf16), width=8)
    ag.check.conform(ag.mfma, "K")
