"""Fused mixture-of-experts product: rows of X gathered by expert, times that expert's weights, weighted, added to Y.

Rows are sorted by expert and padded so that each block of BM rows has one expert: `block_expert[b]` is that expert,
`row_token[r]` the token of sorted row r (any token for padding), `row_weight[r]` its routing weight (0 for padding).
"""

import argus as ag
from argus import bf16, f32, i32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

BM, BN, BK = 64, 128, 64

LDS_X = ag.Layout(row=(BM, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:3]")
LDS_W = ag.Layout(row=(BN, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:3]")

ROW_OF = ag.Owner(t=256, r="t//8")  # the row a thread copies a part of
PART = ag.Owner(t=256, e=8, k="t%8*8 + e")
COPY_W = ag.Owner(p=BN // 32, t=256, e=8, row="p*32 + t//8", k="t%8*8 + e")
ONE = ag.Owner(t=256, x="t*0")
FRAG = MMA.operand(wide=8)
ACC = MMA.acc(row="n", col="m")


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires="R % 64 == 0 and N % 128 == 0 and K % 64 == 0 and P == R // 64",
    example=dict(T=128, K=128, E=4, N=256, R=256, P=4),
    policy=dict(waves_per_simd=2),
)
def moe(
    X: ag.In["T K", bf16],
    W: ag.In["E N K", bf16],
    block_expert: ag.In["P", i32],
    row_token: ag.In["R", i32],
    row_weight: ag.In["R", f32],
    Y: ag.InOut["T N", f32],
):
    bm, bn = ag.grid(R // BM, N // BN, order=ag.xcd(8, group=4))
    wm, wn = ag.wave()
    sX, sW = ag.shared(LDS_X, bf16), ag.shared(LDS_W, bf16)
    acc = ag.zeros(ACC, f32, tiles=dict(n=2))

    expert = ag.as_index(block_expert[bm].load(ONE, width=4), 0, E - 1, name="expert")
    tokens = [
        ag.as_index(row_token[bm * BM + 32 * p].load(ROW_OF, width=4), 0, T - 1, name=f"token{p}") for p in range(2)
    ]
    W = ag.tag(W, expert="E")

    for kt in ag.range(K // BK):
        x = [X[tokens[p], kt * BK].load(PART, width=16) for p in range(2)]
        w = W[expert, bn * BN, kt * BK].load(COPY_W, width=16)
        ag.barrier()
        for p in ag.unroll(2):
            sX.store(x[p], row=32 * p + ag.thread() // 8, width=16)
        sW.store(w, width=16)
        ag.barrier()
        with ag.schedule(mfma=2, ds_read=1):
            for ks in ag.unroll(BK // 16):
                a = sX.load(FRAG, row=32 * wm, k=16 * ks, width=16)
                b = [sW.load(FRAG, row=64 * wn + 32 * j, k=16 * ks, width=16) for j in range(2)]
                ag.setprio(1)
                for j, h in ag.unroll(2, 2):
                    acc[j] = ag.mfma(b[j][h], a[h], acc[j])
                ag.setprio(0)

    # A lane holds one row of the result: its token and weight are one value per lane.
    row = bm * BM + 32 * wm
    mine = ag.as_index(row_token[row].load(ACC.per("m"), width=4), 0, T - 1, name="token")
    weighted = acc * row_weight[row].load(ACC.per("m"), width=4)
    Y[mine, bn * BN + 64 * wn].atomic_add(weighted.without("m"))

    ag.check.conform(ag.mfma, "K")
    ag.check.race_free(sX, sW)
