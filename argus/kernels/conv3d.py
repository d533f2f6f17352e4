"""Convolution in three dimensions, grouped or not, with a chain of elementwise steps after it.

    Y[n, g, o, t, p, q] = chain(sum of X[n, g, c, t', p', q'] * K[g, o, d, r, s, c])

    t' = SD*t + DD*d - PD        p' = SH*p + DH*r - PH        q' = SW*q + DW*s - PW

    X   torch's N C D H W as N G C/G D H W      K   weight.permute(0, 2, 3, 4, 1) as G O/G KD KH KW C/G

`conv2d` with a plane of taps after the other: each has its own halo in LDS.
"""

import argus as ag
from argus import f32
from argus.kernels.chain import told
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
    BK,
    BO,
    COLS,
    CW,
    HAS_U,
    HAS_V,
    HAS_W,
    NEEDS,
    ROWS,
    TO,
    WAVES,
    WO,
    WP,
    YW,
    T,
    convolved,
    operand,
    operands,
    window,
)

KD = ag.knob(3, legal=(1, 2, 3, 4, 5, 7), why="planes of the window")
SD = ag.knob(1, legal=(1, 2, 3, 4, 5), why="stride along D")
DD = ag.knob(1, legal=(1, 2, 3, 4), why="dilation along D")
PD = ag.knob(1, legal=(0, 1, 2, 3, 4, 6, 8), why="planes of zeros before and behind X")

TAPS_D, SPAN_D = window(KD, DD, PD), DD * (KD - 1) + 1
AT = f"{SD} * t + {DD} * d - {PD}, {SH} * p + {DH} * r - {PH}, {SW} * q + {DW} * s - {PW}"
PRODUCT = f"X[n, g, c, {AT}] * K[g, o, d, r, s, c]"
SUM = f"sum(sum(sum(sum({PRODUCT}, c), d), r), s)"
D0 = SPAN_D + 2
WHOLE = ("N G O OD OH OW", T)  # axes and type of Y and of a residual


@ag.kernel(
    threads=256,
    waves=(WP, WO),
    requires=f"{NEEDS} and ID >= 1 and IH >= 1 and IW >= 1 and OW % {YW} == 0 and ID + {2 * PD} >= {SPAN_D} and {FITS}"
    + f" and OD == (ID + {2 * PD} - {SPAN_D}) // {SD} + 1 and {RESULT}",
    computes=f"Y[n, g, o, t, p, q] = {told(SUM, operands('[n, g, o, t, p, q]'))}",
    example=dict(
        N=1,
        G=2,
        C=BK + CW,
        ID=D0,
        IH=H0,
        IW=W0,
        O=40,
        OD=(D0 + 2 * PD - SPAN_D) // SD + 1,
        OH=(H0 + 2 * PH - SPAN_H) // SH + 1,
        OW=(W0 + 2 * PW - SPAN_W) // SW + 1,
    ),
    policy=dict(waves_per_simd=WAVES),
)
def conv3d(
    X: ag.In["N G C ID IH IW", T],
    K: ag.In[f"G O KD={KD} KH={KH} KW={KW} C", T],
    U: ag.In[operand(HAS_U, WHOLE)],
    V: ag.In[operand(HAS_V, WHOLE)],
    W: ag.In[operand(HAS_W, WHOLE)],
    Y: ag.Out[WHOLE],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    n, g, bo, bt, bp, bq = ag.grid(N, G, ag.cdiv(O, BO), OD, ag.cdiv(OH, ROWS), ag.cdiv(OW, COLS))
    wp, wo = ag.wave()
    o0, h0, w0 = bo * BO + 32 * TO * wo, ROWS * bp, COLS * bq
    convolved(
        TILE,
        [(TAPS_H, TAPS_W) for _ in TAPS_D],
        (SH, SW),
        wp,
        ag.cdiv(C, BK),
        lambda c, plane: X[n, g, c, SD * bt + TAPS_D[plane][1], SH * h0 + TILE["top"], SW * w0 + TILE["left"]],
        lambda plane, r, s, c, j: K[g, o0 + 32 * j, TAPS_D[plane][0], r, s, c],
        lambda tensor, row, col, j: tensor[n, g, o0 + 32 * j, bt, h0 + row, w0 + col],
        (n, g, o0),
        Y,
        {"U": U, "V": V, "W": W},
        [p0, p1, p2, p3, p4, p5, p6, p7],
        YW,
    )
