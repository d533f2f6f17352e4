"""Convolutions with MFMA: 2 x 3 taps, strides 2 and 1, dilations 1 and 2, padding 1 and 2. Right ones first."""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

CASE = ag.knob(0, legal=tuple(range(42)), why="which variant")

BETWEEN = "X[n, c, 2 * p + r - 1, q + 2 * s - 2] * K[o, c, r, s]"
SUMS = f"sum(sum(sum({BETWEEN}, c), r), s)"
OTHERS = {5: f"sum(sum(sum({BETWEEN}, s), r), c)", 6: f"sum(sum(sum({BETWEEN}, r, 2), c), s, 3)"}
MEANS = "Y[n, o, p, q] = " + (OTHERS[CASE] if CASE in OTHERS else SUMS)

STRIDES = {9: (1, 1), 10: (1, 2)}
DILATIONS = {11: (2, 1), 12: (1, 1)}
PADDINGS = {13: (0, 2), 14: (1, 0), 15: (-1, -2), 16: (2, 1)}
SH, SW = STRIDES[CASE] if CASE in STRIDES else (2, 1)
DH, DW = DILATIONS[CASE] if CASE in DILATIONS else (1, 2)
PH, PW = PADDINGS[CASE] if CASE in PADDINGS else (1, 2)

# 32 pixels, two rows of sixteen, meet 32 output channels; a lane holds four channels of one of them.
PIXELS = ag.Owner(lane=64, e=4, h=f"lane%32//16*{SH}", w=f"lane%16*{SW}", c="lane//32*4 + e")
WEIGHTS = ag.Owner(lane=64, e=4, o="lane%32", c="lane//32*4 + e")
TURNED = ag.Owner(lane=64, e=4, c="lane%32", o="lane//32*4 + e")
OUT = ag.Owner(lane=64, i=4, e=4, o="i*8 + lane//32*4 + e", p="lane%32//16", q="lane%16")
MIRRORED = ag.Owner(lane=64, i=4, e=4, o="lane%32", p="(i*8 + lane//32*4 + e)//16", q="(i*8 + lane//32*4 + e)%16")
EXCHANGED = ag.Owner(lane=64, i=4, e=4, o="i*8 + lane//32*4 + e", p="lane%16", q="lane%32//16")
FRAG = MMA.operand(k="c")

# All that a tile needs of X, in LDS: 4 rows of 20 pixels (sixteen and twice the dilation), 8 channels each.
HALO = ag.Layout(h=(4, 320), w=(20, 16), c=(8, 2))
FILL = ag.Owner(i=10, lane=64, h="(i*64 + lane)//8//20", w="(i*64 + lane)//8%20", c="lane%8")


@ag.kernel(
    threads=64,
    requires="N >= 1 and C >= 1 and H >= 1 and W >= 1 and O >= 1 and OH >= 1 and OW >= 1",
    computes=MEANS,
    example=dict(N=1, C=20, H=9, W=18, O=40, OH=5, OW=18),
)
def convolution(X: ag.In["N C H W", bf16], K: ag.In["O C KH=2 KW=3", bf16], Y: ag.Out["N O OH OW", f32]):
    n, bo, bp, bq = ag.grid(N, ag.cdiv(O, 32), ag.cdiv(OH, 2), ag.cdiv(OW, 16))
    image = 0 if CASE == 30 else n
    halo = ag.shared(HALO, bf16)
    taps = [(r, s) for r in range(2) for s in range(3)]
    if CASE == 1:
        taps = [(r, s) for s in range(2, -1, -1) for r in range(2)]
    if CASE == 26:
        taps = taps[0:5]
    if CASE == 27:
        taps = taps + [(0, 0)]

    def pixels(block, r, s):
        """The part of X that meets a tap."""
        up, left = (r + 1 if CASE == 7 else r), (s - 1 if CASE == 8 else s)
        h = SH * 2 * (bp + 1 if CASE == 33 else bp) + DH * up - PH
        w = SW * 16 * bq + DW * left - PW
        c = 4 * block if CASE == 23 else 8 * block
        if CASE == 17:  # nothing at the left end
            guard = lambda y, x, k: y + h >= 0 and y + h < H and x + w < W and k + c < C
        elif CASE == 18:  # nothing at the upper end
            guard = lambda y, x, k: x + w >= 0 and y + h < H and x + w < W and k + c < C
        elif CASE == 19:  # nothing at the right end
            guard = lambda y, x, k: x + w >= 0 and y + h >= 0 and y + h < H and k + c < C
        elif CASE == 20:  # nothing at the lower end
            guard = lambda y, x, k: x + w >= 0 and y + h >= 0 and x + w < W and k + c < C
        elif CASE == 35:  # nothing at the last channel, in K neither
            guard = lambda y, x, k: x + w >= 0 and y + h >= 0 and y + h < H and x + w < W
        else:
            guard = "shape"
        return X[image, c, h, w].load(PIXELS, width=2, guard=guard)

    def weights(block, r, s):
        """The part of K for a tap."""
        c = 8 * block + 8 if CASE == 34 else 4 * block if CASE == 23 else 8 * block
        if CASE == 24:  # flipped, as a convolution of signals is
            return K[32 * bo, c, 1 - r, 2 - s].load(WEIGHTS, width=2, guard="shape")
        if CASE == 25:  # input and output channels exchanged
            return K[c, 32 * bo, r, s].load(TURNED, width=2, guard="shape")
        if CASE == 28:
            return K[32 * bo, c, r, (s + 1) % 3].load(WEIGHTS, width=2, guard="shape")
        if CASE == 35:
            return K[32 * bo, c, r, s].load(WEIGHTS, width=2, guard=lambda o, k: o + 32 * bo < O)
        return K[32 * bo, c, r, s].load(WEIGHTS, width=2, guard="shape")

    def product(block, r, s, acc):
        x = pixels(block, r, s).held_as(FRAG)
        w = weights(block, r, s).held_as(FRAG)
        return ag.mfma(x, w, acc) if CASE == 4 else ag.mfma(w, x, acc)

    acc = ag.full(MMA.acc(row="o", col="row"), f32, 1.0) if CASE == 29 else ag.zeros(MMA.acc(row="o", col="row"), f32)
    if CASE == 3:  # one walk over the channels for each tap
        for r, s in taps:
            for block in ag.range(ag.cdiv(C, 8)):
                acc = product(block, r, s, acc)
    elif CASE == 2 or CASE == 36 or CASE == 37 or CASE == 38 or CASE == 40:  # the halo of a tile in LDS
        for block in ag.range(ag.cdiv(C, 8)):
            wide = X[n, 8 * block, 4 * bp - 1, 16 * bq - 2].load(FILL, width=2, guard="shape")
            if CASE == 36:  # neighbors of the image where its edge is
                wide = X[n, 8 * block, 4 * bp - 1, 16 * bq - 2].load(FILL, width=2)
            if CASE == 37:  # one pixel late
                wide = X[n, 8 * block, 4 * bp - 1, 16 * bq - 1].load(FILL, width=2, guard="shape")
            if CASE == 40:  # always the first channels
                wide = X[n, 0, 4 * bp - 1, 16 * bq - 2].load(FILL, width=2, guard="shape")
            ag.barrier()
            halo.store(wide, width=2)
            ag.barrier()
            for r, s in taps:
                part = ag.Owner(lane=64, e=4, h="lane%32//16*2", w="lane%16", c="lane//32*4 + e")
                late = 1 if CASE == 38 else 0
                x = halo.load(part, h=r, w=2 * s - late if s > 0 else 0, c=0, width=8).held_as(FRAG)
                acc = ag.mfma(weights(block, r, s).held_as(FRAG), x, acc)
    elif CASE == 41:  # the accumulator of the last block only
        for block in ag.range(ag.cdiv(C, 8)):
            acc = ag.zeros(MMA.acc(row="o", col="row"), f32)
            for r, s in taps:
                acc = product(block, r, s, acc)
    else:
        blocks = C // 8 if CASE == 21 else ag.cdiv(C, 8)
        for block in ag.range(1, blocks) if CASE == 22 else ag.range(blocks):
            for r, s in taps:
                acc = product(block, r, s, acc)
    if CASE == 39:
        acc = acc + acc
    held = acc.held_as(MIRRORED if CASE == 4 else EXCHANGED if CASE == 31 else OUT)
    Y[n, 32 * bo, 2 * bp, 16 * bq + 1 if CASE == 32 else 16 * bq].store(held, width=4, guard="shape")
