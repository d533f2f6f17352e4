"""The last sum of a mixture of experts: rows looked up by token and slot, weighted and added."""

import argus as ag
from argus import bf16, f32, i32

FLAT = ag.Owner(t=64, e=8, n="t*8 + e")
ONE = ag.Owner(t=64, x="t*0")


@ag.kernel(
    threads=64,
    requires="T >= 1 and R >= 1 and N >= 1 and N % 8 == 0",
    computes="out[t, n] = sum(weight[t, s] * Y[slot[t, s], n], s)",
    example=dict(T=3, R=20, N=520),
)
def combine(Y: ag.In["R N", bf16], slot: ag.In["T S=3", i32], weight: ag.In["T S=3", f32], out: ag.Out["T N", f32]):
    t, bn = ag.grid(T, ag.cdiv(N, 512))
    total = ag.zeros(FLAT, f32)
    for s in range(3):
        row = ag.as_index(slot[t, s].load(ONE, width=4), 0, R - 1, name=f"row{s}")
        w = weight[t, s].load(ONE, width=4).without()
        total = ag.fma(Y[row, 512 * bn].load(FLAT, width=16, guard="shape").to(f32), w, total)
    out[t, 512 * bn].store(total, width=16, guard="shape")
