"""Depthwise convolution in f32: 3 x 3 taps, padding 1, every channel with its own filter. A lane makes one result."""

import argus as ag
from argus import f32

TASK = dict(
    family="window",
    shapes=[dict(B=4, C=32, IH=512, IW=512, OH=512, OW=512)],
    held_out=[dict(B=1, C=3, IH=64, IW=512, OH=64, OW=512), dict(B=2, C=2, IH=32, IW=1024, OH=32, OW=1024)],
    small=[dict(B=1, C=2, IH=32, IW=512, OH=32, OW=512)],
    library="depthwise2d",
)

OUT = ag.Owner(lane=64, ow="lane")
IN = ag.Owner(lane=64, iw="lane")
ONE = ag.Owner(lane=64, one="lane*0")


@ag.kernel(
    threads=64,
    requires="OW % 64 == 0 and IH == OH and IW == OW",
    computes="Y[b, c, p, q] = sum(sum(X[b, c, p + r - 1, q + s - 1] * F[c, r, s], s), r)",
    example=dict(B=1, C=2, IH=4, IW=128, OH=4, OW=128),
)
def depthwise(X: ag.In["B C IH IW", f32], F: ag.In["C KH=3 KW=3", f32], Y: ag.Out["B C OH OW", f32]):
    b, c, p, bq = ag.grid(B, C, OH, OW // 64)
    total = ag.zeros(OUT, f32)
    for r in range(3):
        for s in range(3):
            tap = X[b, c, p + r - 1, 64 * bq + s - 1].load(IN, width=4, guard="shape").held_as(OUT)
            factor = F[c, r, s].load(ONE, width=4).without()
            total = total + tap * factor
    Y[b, c, p, 64 * bq].store(total, width=4)
