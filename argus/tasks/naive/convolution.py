"""Convolution in bf16: 3 x 3 taps, stride 1, padding 1. A wave makes 32 output channels of 32 neighboring pixels."""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

TASK = dict(
    family="convolution",
    shapes=[dict(N=8, C=64, IH=256, IW=256, O=128, OH=256, OW=256)],
    held_out=[
        dict(N=1, C=64, IH=16, IW=128, O=256, OH=16, OW=128),
        dict(N=2, C=128, IH=8, IW=64, O=128, OH=8, OW=64),
    ],
    small=[dict(N=1, C=64, IH=8, IW=64, O=128, OH=8, OW=64)],
    library="conv2d",
)

PIXELS = MMA.operand(row="iw", k="c")
WEIGHTS = MMA.operand(row="o", k="c")


@ag.kernel(
    threads=64,
    requires="C % 8 == 0 and O % 32 == 0 and OW % 32 == 0 and IH == OH and IW == OW",
    computes="Y[n, o, p, q] = sum(sum(sum(X[n, c, p + r - 1, q + s - 1] * K[o, r, s, c], c), r), s)",
    example=dict(N=1, C=16, IH=4, IW=64, O=32, OH=4, OW=64),
)
def convolution(X: ag.In["N C IH IW", bf16], K: ag.In["O KH=3 KW=3 C", bf16], Y: ag.Out["N O OH OW", bf16]):
    n, bo, p, bq = ag.grid(N, O // 32, OH, OW // 32)
    acc = ag.zeros(MMA.acc(row="o", col="ow"), f32)
    for kt in ag.range(C // 8):
        for r in range(3):
            for s in range(3):
                w = K[32 * bo, r, s, 8 * kt].load(WEIGHTS, width=8)
                x = X[n, 8 * kt, p + r - 1, 32 * bq + s - 1].load(PIXELS, width=2, guard="shape")
                acc = ag.mfma(w, x, acc)
    Y[n, 32 * bo, p, 32 * bq].store(acc.to(bf16), width=2)
