"""Planes and rows of a convolution's window as channels of its input, two dimensions of padding inside.

    Y[n, c, d, r, t, p, w] = X[n, c, SD*t + DD*d - PD, SH*p + DH*r - PH, w]          X: torch's N C D H W

Every channel of X becomes KD * KH channels of Y: tap (d, r) of the window has its own, moved to where the result is
that it belongs to. What is left of the convolution is a window of 1 x 1 x KW over C * KD * KH channels. A matrix
instruction takes channels by four or more: three of them and 15 taps make 45, where three alone would be filled
up with zeros for every tap. Lines along W stay whole: nothing is written again for the columns of a window.

Y has its own strides: images may be further apart than their channels need, where what reads it wants a multiple of
channels; the others hold what they held before. A workgroup makes all taps of some rows of one plane.
"""

import argus as ag
from argus import bf16, f16

DTYPE = ag.knob("bf16", legal=("bf16", "f16"), why="element type; only its size matters")
KD = ag.knob(3, legal=(1, 2, 3, 4, 5, 7), why="planes of the window")
KH = ag.knob(3, legal=(1, 2, 3, 4, 5, 7, 9, 11), why="rows of the window")
SD = ag.knob(1, legal=(1, 2, 3, 4, 5), why="stride along D: planes of X between neighbors of Y")
SH = ag.knob(1, legal=(1, 2, 3, 4, 5), why="stride along H")
DD = ag.knob(1, legal=(1, 2, 3, 4), why="dilation along D: planes of X between neighboring taps")
DH = ag.knob(1, legal=(1, 2, 3, 4), why="dilation along H")
PD = ag.knob(0, legal=(0, 1, 2, 3, 4, 6, 8), why="planes of zeros before and behind X")
PH = ag.knob(0, legal=(0, 1, 2, 3, 4, 6, 8), why="rows of zeros above and below X")
WIDE = ag.knob(8, legal=(1, 2, 4, 8), why="neighbouring columns of a thread; W must be a multiple of it")
LANES = ag.knob(8, legal=(8, 16, 32, 64), why="threads along W; the others are rows")

T = bf16 if DTYPE == "bf16" else f16
HIGH, ACROSS = 256 // LANES, LANES * WIDE  # rows and columns of a workgroup
FROM = ag.Owner(t=256, e=WIDE, h=f"t//{LANES}*{SH}", w=f"t%{LANES}*{WIDE} + e")
TO = ag.Owner(t=256, e=WIDE, p=f"t//{LANES}", w=f"t%{LANES}*{WIDE} + e")
SPAN_D, SPAN_H = DD * (KD - 1) + 1, DH * (KH - 1) + 1  # what a window covers of X
D0, H0 = SPAN_D + 2 * SD, SPAN_H + 9 * SH  # of the example
RESULT = f"OD == (ID + {2 * PD} - {SPAN_D}) // {SD} + 1 and OH == (IH + {2 * PH} - {SPAN_H}) // {SH} + 1"
FITS = f"ID + {2 * PD} >= {SPAN_D} and IH + {2 * PH} >= {SPAN_H}"
WHOLE = f"IW % {WIDE} == 0 and yN % {WIDE} == 0 and yC % {WIDE} == 0 and yD % {WIDE} == 0"
MORE = f"yR % {WIDE} == 0 and yT % {WIDE} == 0"
OD0, OH0, IW0 = (D0 + 2 * PD - SPAN_D) // SD + 1, (H0 + 2 * PH - SPAN_H) // SH + 1, 9 * WIDE
EACH = OD0 * OH0 * IW0


@ag.kernel(
    threads=256,
    requires=f"N >= 1 and C >= 1 and ID >= 1 and IH >= 1 and IW >= 1 and {FITS} and {RESULT} and {WHOLE} and {MORE}",
    computes=f"Y[n, c, d, r, t, p, w] = X[n, c, {SD} * t + {DD} * d - {PD}, {SH} * p + {DH} * r - {PH}, w]",
    example=dict(
        N=2, C=2, ID=D0, IH=H0, IW=IW0, OD=OD0, OH=OH0, yN=(2 * KD * KH + 1) * EACH, yC=KD * KH * EACH, yD=KH * EACH,
        yR=EACH, yT=OH0 * IW0,
    ),
)  # fmt: skip
def window_channels(
    X: ag.In["N C ID IH IW", T],
    Y: ag.Out[f"N C d={KD} r={KH} OD OH IW", T, "yN yC yD yR yT IW 1"],
):
    n, c, t, bp, bw = ag.grid(N, C, OD, ag.cdiv(OH, HIGH), ag.cdiv(IW, ACROSS))
    p, w = bp * HIGH, bw * ACROSS
    for d in range(KD):
        rows = [
            X[n, c, SD * t + DD * d - PD, SH * p + DH * r - PH, w].load(FROM, width=2 * WIDE, guard="shape")
            for r in range(KH)
        ]
        for r in range(KH):
            Y[n, c, d, r, t, p, w].store(rows[r].held_as(TO), width=2 * WIDE, guard="shape")
