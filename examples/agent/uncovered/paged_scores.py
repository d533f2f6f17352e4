"""Scores of paged keys in bf16, as an indexer of sparse attention needs them, as plain as it gets: one wave, one page.

Page t of request b is K[table[b, t]], 32 keys. I[b, t, j] is the sum over 32 heads of w max(Q K, 0).
"""

import argus as ag
from argus import bf16, f32, i32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

TASK = dict(
    family="paged_scores",
    shapes=[dict(B=128, P=4096, T=128)],
    held_out=[dict(B=5, P=40, T=9)],
    small=[dict(B=3, P=16, T=4)],
)

HEADS = MMA.operand(row="G", k="D")
KEY = MMA.operand(row="j", k="D")
SCORES = MMA.acc(row="G", col="j")
ONE = ag.Owner(lane=64, x="lane*0")


@ag.kernel(
    threads=64,
    requires="B >= 1 and P >= 1 and T >= 1",
    computes="I[b, t, j] = sum(w[b, g] * max(sum(Q[b, g, e] * K[table[b, t], j, e], e), 0), g)",
    example=dict(B=2, P=8, T=3),
)
def paged_scores(
    Q: ag.In["B G=32 D=128", bf16],
    K: ag.In["P j=32 D=128", bf16],
    table: ag.In["B T", i32],
    w: ag.In["B G=32", f32],
    I: ag.Out["B T j=32", f32],
):
    b, t = ag.grid(B, T)
    page = ag.as_index(table[b, t].load(ONE, width=4), 0, P - 1, name="page")
    q = Q[b].load(HEADS, tiles=dict(D=16), width=8)
    k = K[page].load(KEY, tiles=dict(D=16), width=8)
    s = ag.zeros(SCORES, f32)
    for ks in ag.unroll(16):
        s = ag.mfma(q[ks], k[ks], s)
    total = (ag.max(s, 0.0) * w[b].load(SCORES.per("G"), width=4)).sum("G")
    I[b, t].store(total, width=4, guard=ag.lane() < 32)
