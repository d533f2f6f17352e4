"""Grouped matrix product in bf16: every 128 rows of A meet the weights of their group, as plain as it gets.

C[r, n] = sum over k of A[r, k] W[group[r // 128], n, k]. One wave computes one 32 x 32 tile of C, its fragments come
straight from global memory.
"""

import argus as ag
from argus import bf16, f32, i32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

TASK = dict(
    family="grouped_gemm",
    shapes=[dict(R=8192, P=64, E=16, N=4096, K=2048)],
    held_out=[dict(R=1024, P=8, E=5, N=768, K=512)],
    small=[dict(R=512, P=4, E=3, N=256, K=128)],
)

FRAG = MMA.operand(row="row", k="k")
ONE = ag.Owner(lane=64, x="lane*0")


@ag.kernel(
    threads=64,
    requires="E >= 1 and P >= 1 and R == 128 * P and N % 32 == 0 and K % 8 == 0",
    computes="C[r, n] = sum(A[r, k] * W[group[r // 128], n, k], k)",
    example=dict(R=256, P=2, E=3, N=64, K=64),
)
def grouped_gemm(A: ag.In["R K", bf16], W: ag.In["E N K", bf16], group: ag.In["P", i32], C: ag.Out["R N", bf16]):
    bm, bn = ag.grid(R // 32, N // 32)
    e = ag.as_index(group[32 * bm // 128].load(ONE, width=4), 0, E - 1, name="group")
    acc = ag.zeros(MMA.acc(row="N", col="R"), f32)
    for kt in ag.range(K // 8):
        a = A[32 * bm, 8 * kt].load(FRAG, width=8)
        w = W[e, 32 * bn, 8 * kt].load(FRAG, width=8)
        acc = ag.mfma(w, a, acc)
    C[32 * bm, 32 * bn].store(acc.to(bf16), width=8)
