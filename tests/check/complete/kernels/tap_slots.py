"""A convolution of one channel whose matrix instructions sum over taps: right, but sums over slots are not followed."""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

SIGNAL = ag.Owner(lane=64, e=4, l="lane%32 + lane//32*4 + e")
TAPS = ag.Owner(lane=64, e=4, o="lane%32", r="lane//32*4 + e")
OUT = ag.Owner(lane=64, i=4, e=4, o="i*8 + lane//32*4 + e", q="lane%32")
FRAG = MMA.operand()


@ag.kernel(
    threads=64,
    requires="N >= 1 and O >= 1 and L >= 1 and Q >= 1",
    computes="y[n, o, q] = sum(x[n, q + r - 3] * k[o, r], r)",
    example=dict(N=2, O=40, L=50, Q=50),
)
def tap_slots(x: ag.In["N L", bf16], k: ag.In["O R=8", bf16], y: ag.Out["N O Q", f32]):
    n, bo, bq = ag.grid(N, ag.cdiv(O, 32), ag.cdiv(Q, 32))
    a = k[32 * bo].load(TAPS, width=8, guard="shape").held_as(FRAG)
    b = x[n, 32 * bq - 3].load(SIGNAL, width=2, guard="shape").held_as(FRAG)
    acc = ag.mfma(a, b, ag.zeros(MMA.acc(row="o", col="q"), f32))
    y[n, 32 * bo, 32 * bq].store(acc.held_as(OUT), width=4, guard="shape")
