"""Convolution in one or two dimensions, grouped or not, with a chain of elementwise steps after it.

    Y[n, g, o, p, q] = chain(sum of X[n, g, c, SH*p + DH*r - PH, SW*q + DW*s - PW] * K[g, o, r, s, c])

    X   torch's N C H W as N G C/G H W      K   weight.permute(0, 2, 3, 1) as G O/G KH KW C/G      Y   N G O/G OH OW

An implicit GEMM (`argus.kernels.implicit_gemm`). Extents of the window, strides, dilations and paddings are knobs; all
sizes are free, OH and OW follow from them. A convolution in one dimension has H = 1 and KH = 1, PH = 0, ROWS = 1.
"""

import argus as ag
from argus import f32
from argus.kernels.chain import told
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
    XW,
    YW,
    T,
    convolved,
    operand,
    operands,
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
SUM = f"sum(sum(sum({AT} * K[g, o, r, s, c], c), r), s)"
FITS = f"IH + {2 * PH} >= {SPAN_H} and IW + {2 * PW} >= {SPAN_W}"
RESULT = f"OH == (IH + {2 * PH} - {SPAN_H}) // {SH} + 1 and OW == (IW + {2 * PW} - {SPAN_W}) // {SW} + 1"
ROWS_OF = [h for h in range(1, 64) if h + 2 * PH >= SPAN_H]
COLS_OF = [w for w in range(XW, 400, XW) if w + 2 * PW >= SPAN_W and ((w + 2 * PW - SPAN_W) // SW + 1) % YW == 0]
assert COLS_OF, "no width of X suits the pixels per access to X and to Y"
H0, W0 = ROWS_OF[5], COLS_OF[-1] if len(COLS_OF) < 4 else COLS_OF[3]  # of the example
WHOLE = ("N G O OH OW", T)  # axes and type of Y and of a residual


@ag.kernel(
    threads=256,
    waves=(WP, WO),
    requires=f"{NEEDS} and IH >= 1 and IW >= 1 and OW % {YW} == 0 and {FITS} and {RESULT}",
    computes=f"Y[n, g, o, p, q] = {told(SUM, operands('[n, g, o, p, q]'))}",
    example=dict(
        N=1,
        G=2,
        C=BK + CW,
        IH=H0,
        IW=W0,
        O=40,
        OH=(H0 + 2 * PH - SPAN_H) // SH + 1,
        OW=(W0 + 2 * PW - SPAN_W) // SW + 1,
    ),
    policy=dict(waves_per_simd=WAVES),
)
def conv2d(
    X: ag.In["N G C IH IW", T],
    K: ag.In[f"G O KH={KH} KW={KW} C", T],
    U: ag.In[operand(HAS_U, WHOLE)],
    V: ag.In[operand(HAS_V, WHOLE)],
    W: ag.In[operand(HAS_W, WHOLE)],
    Y: ag.Out[WHOLE],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    n, g, bo, bp, bq = ag.grid(N, G, ag.cdiv(O, BO), ag.cdiv(OH, ROWS), ag.cdiv(OW, COLS))
    wp, wo = ag.wave()
    o0, h0, w0 = bo * BO + 32 * TO * wo, ROWS * bp, COLS * bq
    convolved(
        TILE,
        [(TAPS_H, TAPS_W)],
        (SH, SW),
        wp,
        ag.cdiv(C, BK),
        lambda c, plane: X[n, g, c, SH * h0 + TILE["top"], SW * w0 + TILE["left"]],
        lambda plane, r, s, c, j: K[g, o0 + 32 * j, r, s, c],
        lambda tensor, row, col, j: tensor[n, g, o0 + 32 * j, h0 + row, w0 + col],
        (n, g, o0),
        Y,
        {"U": U, "V": V, "W": W},
        [p0, p1, p2, p3, p4, p5, p6, p7],
        YW,
    )
