"""Transposed convolution in three dimensions by phases, grouped or not, with a chain of elementwise steps after it.

    Y[n, g, o, SD*t + FD, SH*p + FH, SW*q + FW] = chain(sum of X[n, g, c, t + d, p + h, q + w] * K[g, o, i, r, s, c]
                                                  over taps)

    X   torch's N C D H W as N G C/G D H W      K   G O/G KD KH KW C/G, from torch's weight[C, O/G, KD, KH, KW]

`conv_transpose2d` with a plane of taps after the other. A launch makes one phase; Y is the view
y[:, :, :, FD::SD, FH::SH, FW::SW]. A phase that no tap meets is made by `no_taps`.
"""

import argus as ag
from argus import f32
from argus.kernels.chain import told
from argus.kernels.conv_transpose2d import DH, DW, EVEN, KH, KW, PH, PW, SH, SW, TAPS_H, TAPS_W, TILE, summed
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
    phase,
)

KD = ag.knob(3, legal=(1, 2, 3, 4, 5, 7), why="planes of the window")
SD = ag.knob(2, legal=(1, 2, 3, 4, 5), why="stride along D")
DD = ag.knob(1, legal=(1, 2, 3, 4), why="dilation along D")
PD = ag.knob(1, legal=(0, 1, 2, 3, 4, 6, 8), why="planes of the result that are left out before and behind")
FD = ag.knob(0, legal=(0, 1, 2, 3, 4), why="phase: the first plane of the view Y")
assert FD < SD, "there are as many phases as the stride"

TAPS_D = phase(KD, SD, DD, PD, FD)
TAPS = [(d, h, w) for d in TAPS_D for h in TAPS_H for w in TAPS_W]
PARTS = [
    f"sum(X[n, g, c, t + {d[1]}, p + {h[1]}, q + {w[1]}] * K[g, o, {d[0]}, {h[0]}, {w[0]}, c], c)" for d, h, w in TAPS
]
AT = f"t + {PD} - {DD} * d, p + {PH} - {DH} * r, q + {PW} - {DW} * s"
ALL = f"sum(sum(sum(sum(X[n, g, c, {AT}] * K[g, o, d, r, s, c], c), d), r), s)"  # of one phase, which all taps meet
SUM = ALL if max(SD, SH, SW) == 1 else summed(PARTS)
WHOLE = ("N G O OD OH OW", T, f"sN sG sO sT sP {SW}")  # axes and type of Y and of a residual


@ag.kernel(
    threads=256,
    waves=(WP, WO),
    requires=f"{NEEDS} and ID >= 1 and IH >= 1 and IW >= 1 and OD >= 1 and OH >= 1 and OW >= 1"
    + (EVEN + f" and sT % {YW} == 0" if EVEN else ""),
    computes=f"Y[n, g, o, t, p, q] = {told(SUM, operands('[n, g, o, t, p, q]'))}",
    example=dict(
        N=1,
        G=2,
        C=BK + CW,
        ID=3,
        IH=9,
        IW=5 * XW,
        O=40,
        OD=4,
        OH=10,
        OW=32,
        sN=80 * 4 * SD * 10 * SH * 32 * SW,
        sG=40 * 4 * SD * 10 * SH * 32 * SW,
        sO=4 * SD * 10 * SH * 32 * SW,
        sT=SD * 10 * SH * 32 * SW,
        sP=SH * 32 * SW,
    ),
    policy=dict(waves_per_simd=WAVES),
)
def conv_transpose3d(
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
        (1, 1),
        wp,
        ag.cdiv(C, BK),
        lambda c, plane: X[n, g, c, bt + TAPS_D[plane][1], h0 + TILE["top"], w0 + TILE["left"]],
        lambda plane, r, s, c, j: K[g, o0 + 32 * j, TAPS_D[plane][0], r, s, c],
        lambda tensor, row, col, j: tensor[n, g, o0 + 32 * j, bt, h0 + row, w0 + col],
        (n, g, o0),
        Y,
        {"U": U, "V": V, "W": W},
        [p0, p1, p2, p3, p4, p5, p6, p7],
        YW if SW == 1 else 1,
    )
