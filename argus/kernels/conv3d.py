"""Convolution in three dimensions, grouped or not, with bias and an activation.

    Y[n, g, o, t, p, q] = ACT(sum of X[n, g, c, t', p', q'] * K[g, o, d, r, s, c] + bias[g, o])

    t' = SD*t + DD*d - PD        p' = SH*p + DH*r - PH        q' = SW*q + DW*s - PW

    X   torch's N C D H W as N G C/G D H W      K   weight.permute(0, 2, 3, 4, 1) as G O/G KD KH KW C/G

`conv2d` with a plane of taps after the other: each has its own halo in LDS.
"""

import argus as ag
from argus import f32
from argus.kernels.activations import stated
from argus.kernels.conv2d import (
    DH,
    DW,
    FITS,
    H0,
    KH,
    KW,
    PH,
    PW,
    RESULT,
    SH,
    SPAN_H,
    SPAN_W,
    SW,
    TAPS_H,
    TAPS_W,
    TILE,
    W0,
)
from argus.kernels.implicit_gemm import (
    ACT,
    BIAS,
    BK,
    BO,
    COLS,
    CW,
    NEEDS,
    ROWS,
    TO,
    WAVES,
    WO,
    WP,
    YW,
    T,
    convolved,
    window,
)

KD = ag.knob(3, legal=(1, 2, 3, 4, 5, 7), why="planes of the window")
SD = ag.knob(1, legal=(1, 2, 3, 4, 5), why="stride along D")
DD = ag.knob(1, legal=(1, 2, 3, 4), why="dilation along D")
PD = ag.knob(1, legal=(0, 1, 2, 3, 4, 6, 8), why="planes of zeros before and behind X")

TAPS_D, SPAN_D = window(KD, DD, PD), DD * (KD - 1) + 1
AT = f"{SD} * t + {DD} * d - {PD}, {SH} * p + {DH} * r - {PH}, {SW} * q + {DW} * s - {PW}"
PRODUCT = f"X[n, g, c, {AT}] * K[g, o, d, r, s, c]"
SUM = f"sum(sum(sum(sum({PRODUCT}, c), d), r), s)" + (" + bias[g, o]" if BIAS else "")
D0 = SPAN_D + 2


@ag.kernel(
    threads=256,
    waves=(WP, WO),
    requires=f"{NEEDS} and D >= 1 and H >= 1 and W >= 1 and OW % {YW} == 0 and D + {2 * PD} >= {SPAN_D} and {FITS}"
    + f" and OD == (D + {2 * PD} - {SPAN_D}) // {SD} + 1 and {RESULT}",
    computes=f"Y[n, g, o, t, p, q] = {stated(ACT, SUM, 'slope')}",
    example=dict(
        N=1,
        G=2,
        C=BK + CW,
        D=D0,
        H=H0,
        W=W0,
        O=40,
        OD=(D0 + 2 * PD - SPAN_D) // SD + 1,
        OH=(H0 + 2 * PH - SPAN_H) // SH + 1,
        OW=(W0 + 2 * PW - SPAN_W) // SW + 1,
    ),
    policy=dict(waves_per_simd=WAVES),
)
def conv3d(
    X: ag.In["N G C D H W", T],
    K: ag.In[f"G O KD={KD} KH={KH} KW={KW} C", T],
    bias: ag.In["G O", f32],
    Y: ag.Out["N G O OD OH OW", T],
    slope: f32,
):
    n, g, bo, bt, bp, bq = ag.grid(N, G, ag.cdiv(O, BO), OD, ag.cdiv(OH, ROWS), ag.cdiv(OW, COLS))
    wp, wo = ag.wave()
    o0, p0, q0 = bo * BO + 32 * TO * wo, ROWS * bp, COLS * bq
    convolved(
        TILE,
        [(TAPS_H, TAPS_W) for _ in TAPS_D],
        (SH, SW),
        wp,
        ag.cdiv(C, BK),
        lambda c, plane: X[n, g, c, SD * bt + TAPS_D[plane][1], SH * p0 + TILE["top"], SW * q0 + TILE["left"]],
        lambda plane, r, s, c, j: K[g, o0 + 32 * j, TAPS_D[plane][0], r, s, c],
        lambda row, col, j: Y[n, g, o0 + 32 * j, bt, p0 + row, q0 + col],
        lambda j: bias[g, o0 + 32 * j],
        slope,
        YW,
    )
