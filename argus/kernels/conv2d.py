"""Convolution in one or two dimensions, grouped or not, with bias and an activation.

    Y[n, g, o, p, q] = ACT(sum of X[n, g, c, SH*p + DH*r - PH, SW*q + DW*s - PW] * K[g, o, r, s, c] + bias[g, o])

    X   torch's N C H W as N G C/G H W      K   weight.permute(0, 2, 3, 1) as G O/G KH KW C/G      Y   N G O/G OH OW

An implicit GEMM (`argus.kernels.implicit_gemm`). Extents of the window, strides, dilations and paddings are knobs; all
sizes are free, OH and OW follow from them. A convolution in one dimension has H = 1 and KH = 1, PH = 0, ROWS = 1.
"""

import argus as ag
from argus import f32
from argus.kernels.activations import stated
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
    XW,
    YW,
    T,
    convolved,
    tiling,
    window,
)

KH = ag.knob(3, legal=(1, 2, 3, 4, 5, 7, 9, 11), why="rows of the window")
KW = ag.knob(3, legal=(1, 2, 3, 4, 5, 7, 9, 11), why="columns of the window")
SH = ag.knob(1, legal=(1, 2, 3, 4, 5), why="stride along H: rows of X between neighbors of Y")
SW = ag.knob(1, legal=(1, 2, 3, 4, 5), why="stride along W")
DH = ag.knob(1, legal=(1, 2, 3, 4), why="dilation along H: rows of X between neighboring taps")
DW = ag.knob(1, legal=(1, 2, 3, 4), why="dilation along W")
PH = ag.knob(1, legal=(0, 1, 2, 3, 4, 6, 8), why="rows of zeros above and below X")
PW = ag.knob(1, legal=(0, 1, 2, 3, 4, 6, 8), why="columns of zeros left and right of X")

TAPS_H, TAPS_W = window(KH, DH, PH), window(KW, DW, PW)
TILE = tiling(TAPS_H, TAPS_W, SH, SW)

SPAN_H, SPAN_W = DH * (KH - 1) + 1, DW * (KW - 1) + 1  # what a window covers of X
AT = f"X[n, g, c, {SH} * p + {DH} * r - {PH}, {SW} * q + {DW} * s - {PW}]"
SUM = f"sum(sum(sum({AT} * K[g, o, r, s, c], c), r), s)" + (" + bias[g, o]" if BIAS else "")
FITS = f"H + {2 * PH} >= {SPAN_H} and W + {2 * PW} >= {SPAN_W}"
RESULT = f"OH == (H + {2 * PH} - {SPAN_H}) // {SH} + 1 and OW == (W + {2 * PW} - {SPAN_W}) // {SW} + 1"
ROWS_OF = [h for h in range(1, 64) if h + 2 * PH >= SPAN_H]
COLS_OF = [w for w in range(XW, 400, XW) if w + 2 * PW >= SPAN_W and ((w + 2 * PW - SPAN_W) // SW + 1) % YW == 0]
assert COLS_OF, "no width of X suits the pixels per access to X and to Y"
H0, W0 = ROWS_OF[5], COLS_OF[-1] if len(COLS_OF) < 4 else COLS_OF[3]  # of the example


@ag.kernel(
    threads=256,
    waves=(WP, WO),
    requires=f"{NEEDS} and H >= 1 and W >= 1 and OW % {YW} == 0 and {FITS} and {RESULT}",
    computes=f"Y[n, g, o, p, q] = {stated(ACT, SUM, 'slope')}",
    example=dict(
        N=1, G=2, C=BK + CW, H=H0, W=W0, O=40, OH=(H0 + 2 * PH - SPAN_H) // SH + 1, OW=(W0 + 2 * PW - SPAN_W) // SW + 1
    ),
    policy=dict(waves_per_simd=WAVES),
)
def conv2d(
    X: ag.In["N G C H W", T],
    K: ag.In[f"G O KH={KH} KW={KW} C", T],
    bias: ag.In["G O", f32],
    Y: ag.Out["N G O OH OW", T],
    slope: f32,
):
    n, g, bo, bp, bq = ag.grid(N, G, ag.cdiv(O, BO), ag.cdiv(OH, ROWS), ag.cdiv(OW, COLS))
    wp, wo = ag.wave()
    o0, p0, q0 = bo * BO + 32 * TO * wo, ROWS * bp, COLS * bq
    convolved(
        TILE,
        [(TAPS_H, TAPS_W)],
        (SH, SW),
        wp,
        ag.cdiv(C, BK),
        lambda c, plane: X[n, g, c, SH * p0 + TILE["top"], SW * q0 + TILE["left"]],
        lambda plane, r, s, c, j: K[g, o0 + 32 * j, r, s, c],
        lambda row, col, j: Y[n, g, o0 + 32 * j, p0 + row, q0 + col],
        lambda j: bias[g, o0 + 32 * j],
        slope,
        YW,
    )
