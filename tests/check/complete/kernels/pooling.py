"""Pooling: an eighth (exact) of windows of 3 x 2, strides 2 and 3, padding 1 and 0. Right ones first."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(26)), why="which variant")

AT = "X[n, c, 2 * p + r - 1, 3 * q + s]"
INSIDE = f"sum(sum({AT}, s, 2), r, 3)" if CASE == 4 else f"sum(sum({AT}, r, 3), s, 2)"
MEANS = f"Y[n, c, p, q] = {INSIDE} / 8"

STRIDES = {6: (1, 3), 7: (2, 1), 8: (3, 2), 9: (2, 2)}
PADDINGS = {10: (0, 0), 11: (1, 1), 12: (-1, 0), 13: (0, 1)}
WINDOWS = {14: (2, 2), 15: (3, 1), 16: (3, 3), 17: (2, 3)}
SH, SW = STRIDES[CASE] if CASE in STRIDES else (2, 3)
PH, PW = PADDINGS[CASE] if CASE in PADDINGS else (1, 0)
KH, KW = WINDOWS[CASE] if CASE in WINDOWS else (3, 2)

# Four rows of 64 pixels of the result.
OUT = ag.Owner(t=256, p="t//64", q="t%64")
STEP = ag.Owner(t=256, h=f"t//64*{SH}", w=f"t%64*{SW}")
# Neighbors along a row of X, in pairs: both are in the window of one pixel.
PAIR = ag.Owner(t=256, e=2, h="t//64*2", w="t%64*3 + e")
LINE = ag.Layout(h=(10, 772), w=(193, 4))
FILL = ag.Owner(i=7, t=256, h="(i*256 + t)//193", w="(i*256 + t)%193")


@ag.kernel(
    threads=256,
    requires="N >= 1 and C >= 1 and H >= 1 and W >= 1 and OH >= 1 and OW >= 1",
    computes=MEANS,
    example=dict(N=1, C=2, H=9, W=80, OH=5, OW=27),
)
def pooling(X: ag.In["N C H W", f32], Y: ag.Out["N C OH OW", f32]):
    n, c, bp, bq = ag.grid(N, C, ag.cdiv(OH, 4), ag.cdiv(OW, 64))
    top, left = 4 * SH * bp - PH, 64 * SW * bq - PW
    line = ag.shared(LINE, f32)
    total = ag.zeros(OUT, f32)
    if CASE == 1:  # right: the last tap first
        for r in range(2, -1, -1):
            for s in range(1, -1, -1):
                total = total + X[n, c, top + r, left + s].load(STEP, width=4, guard="shape").held_as(OUT)
    elif CASE == 2 or CASE == 18 or CASE == 19:  # what a block needs, in LDS
        late = 1 if CASE == 18 else 0
        line.store(X[n, c, top, left + late].load(FILL, width=4, guard="shape"), width=4)
        if CASE != 19:
            ag.barrier()
        for r in range(3):
            for s in range(2):
                total = total + line.load(STEP, h=r, w=s, width=4).held_as(OUT)
    elif CASE == 3:  # right: two neighbors of a row together
        for r in range(3):
            pair = X[n, c, top + r, left].load(PAIR, width=4, guard="shape")
            total = total + pair[0].held_as(OUT) + pair[1].held_as(OUT)
    else:
        for r in range(KH):
            for s in range(KW):
                h, w = top + r, left + s
                if CASE == 20:  # wrong: nothing at the upper end
                    guard = lambda y, x: y + h < H and x + w < W
                elif CASE == 21:  # wrong: nothing at the right end
                    guard = lambda y, x: y + h >= 0 and y + h < H
                else:
                    guard = "shape"
                total = total + X[n, c, h, w].load(STEP, width=4, guard=guard).held_as(OUT)
        if CASE == 22:  # wrong: one tap more
            total = total + X[n, c, top, left].load(STEP, width=4, guard="shape").held_as(OUT)
    part = 1.0 / 6.0 if CASE == 23 else 1.0 / 8.0
    made = total / 8.0 if CASE == 5 else total * part
    channel = 0 if CASE == 24 else c
    Y[n, channel, 4 * bp, 64 * bq + (1 if CASE == 25 else 0)].store(made, width=4, guard="shape")
