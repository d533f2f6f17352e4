"""bf16 convolution, Y[n, o, p, q] = sum of X[n, c, S*p + D*r - P, S*q + D*s - P] * K[o, r, s, c], f32 accumulation.

An implicit GEMM: a workgroup of four waves computes ROWS x 16 pixels of BO output channels. For every BK input
channels, all pixels that the tile and its taps need (the halo) go to LDS once; each of the R x R taps then multiplies
fragments that begin D*r rows and D*s columns further. Weights lie with their input channels together and go straight to
registers, AHEAD steps before they are used; so does the next halo, half a step of channels before.

    X   N C H W, as torch has it        K   O R R C, torch's weight.permute(0, 2, 3, 1)        Y   N O OH OW

Extent R of the window, stride S, dilation D and padding P are knobs; all sizes are free, OH and OW follow from them.
"""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

R = ag.knob(3, legal=(1, 2, 3, 4, 5, 7), why="rows and columns of the window")
S = ag.knob(1, legal=(1, 2, 3, 4), why="stride: pixels of X between neighbors of Y")
D = ag.knob(1, legal=(1, 2, 3, 4), why="dilation: pixels of X between neighboring taps")
P = ag.knob(1, legal=(0, 1, 2, 3, 4, 6), why="padding: zeros on each side of X")
ROWS = ag.knob(16, legal=(8, 16), why="rows of 16 pixels per workgroup; 8 where their halo is too large for LDS")
BO = ag.knob(128, legal=(64, 128), why="output channels per workgroup")
BK = ag.knob(32, legal=(16, 32), why="input channels per step; 16 where the halo of 32 is too large for LDS")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access to weights; C must be a multiple of it")

SPAN = D * (R - 1) + 1  # what a window covers of X
HIGH, WIDE = S * (ROWS - 1) + SPAN, S * 15 + SPAN  # the halo of ROWS x 16 pixels
GROUPS = BK // 8  # of eight channels, which a thread brings together
PASSES = (HIGH * WIDE * GROUPS + 255) // 256
SLOTS = PASSES * 256 // GROUPS  # pixels that these passes move: the halo, and some after it
ROW = 2 * BK + 16  # bytes of a pixel in LDS; 16 more than its channels, so that neighbors start in other banks
HALO = ag.Layout(h=((SLOTS + WIDE - 1) // WIDE, WIDE * ROW), w=(WIDE, ROW), c=(BK, 2))
SLOT = f"(i*{256 // GROUPS} + t//{GROUPS * 64}*64 + t%64)"  # a wave moves eight channels of 64 neighboring pixels
FILL = ag.Owner(i=PASSES, t=256, e=8, c=f"t%{GROUPS * 64}//64*8 + e", h=f"{SLOT}//{WIDE}", w=f"{SLOT}%{WIDE}")

# 32 pixels of a fragment are two rows of sixteen; a lane has eight channels of one pixel, or of one output channel.
PIXELS = ag.Owner(lane=64, e=8, h=f"lane%32//16*{S}", w=f"lane%16*{S}", c="lane//32*8 + e")
WEIGHTS = ag.Owner(lane=64, e=8, o="lane%32", c="lane//32*8 + e")
FRAG = MMA.operand(wide=8)
OUT = ag.Owner(lane=64, i=4, e=4, o="i*8 + lane//32*4 + e", p="lane%32//16", q="lane%16")
TP, TO = ROWS // 4, BO // 64  # fragments of 32 pixels and of 32 output channels per wave
AHEAD = 2  # steps between a load of weights and its use

AT = f"X[n, c, {S} * p + {D} * r - {P}, {S} * q + {D} * s - {P}]"
FITS = f"H + {2 * P} >= {SPAN} and W + {2 * P} >= {SPAN}"
RESULT = f"OH == (H + {2 * P} - {SPAN}) // {S} + 1 and OW == (W + {2 * P} - {SPAN}) // {S} + 1"


@ag.kernel(
    threads=256,
    waves=(2, 2),
    requires=f"N >= 1 and C >= 1 and O >= 1 and H >= 1 and W >= 1 and C % {WIDTH // 2} == 0 and {FITS} and {RESULT}",
    computes=f"Y[n, o, p, q] = sum(sum(sum({AT} * K[o, r, s, c], c), r), s)",
    example=dict(N=1, C=40, H=16, W=32, O=72, OH=(16 + 2 * P - SPAN) // S + 1, OW=(32 + 2 * P - SPAN) // S + 1),
)
def conv2d(X: ag.In["N C H W", bf16], K: ag.In[f"O KH={R} KW={R} C", bf16], Y: ag.Out["N O OH OW", bf16]):
    n, bo, bp, bq = ag.grid(N, ag.cdiv(O, BO), ag.cdiv(OH, ROWS), ag.cdiv(OW, 16))
    wp, wo = ag.wave()
    o0 = bo * BO + 32 * TO * wo
    halo = ag.shared(HALO, bf16)
    acc = ag.zeros(MMA.acc(row="o", col="row"), f32, tiles=dict(row=TP, o=TO))
    steps = [(r, s, 16 * ks) for r in range(R) for s in range(R) for ks in range(BK // 16)]

    def pixels(kt):
        """The halo of one step of channels; past the last one, zeros."""
        return X[n, kt * BK, ROWS * S * bp - P, 16 * S * bq - P].load(FILL, width=2, guard="shape")

    def weights(kt, step):
        r, s, c = step
        at = [o0 + 32 * j for j in range(TO)]
        return [K[o, r, s, kt * BK + c].load(WEIGHTS, width=WIDTH, guard="shape").held_as(FRAG) for o in at]

    x = pixels(0)
    for kt in ag.range(ag.cdiv(C, BK)):
        ahead = [weights(kt, step) for step in steps[0:AHEAD]]
        ag.barrier()  # the halo of the channels before has been read
        halo.store(x, width=16)
        ag.barrier()  # this one is there
        for t, (r, s, c) in enumerate(steps):
            w = ahead[0]
            ahead = ahead[1:] + ([weights(kt, steps[t + AHEAD])] if t + AHEAD < len(steps) else [])
            if t == len(steps) // 2:
                x = pixels(kt + 1)
            for i in range(TP):
                a = halo.load(PIXELS, h=S * 2 * (TP * wp + i) + D * r, w=D * s, c=c, width=16).held_as(FRAG)
                for j, h in ag.unroll(TO, 2):
                    acc[i, j] = ag.mfma(w[j][h], a[h], acc[i, j])
    for i, j in ag.unroll(TP, TO):
        Y[n, o0 + 32 * j, ROWS * bp + 2 * (TP * wp + i), 16 * bq].store(
            acc[i, j].to(bf16).held_as(OUT), width=2, guard="shape"
        )
