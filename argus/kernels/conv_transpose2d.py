"""Transposed convolution in one or two dimensions by phases, grouped or not, with a chain of steps after it.

    Y[n, g, o, SH*p + FH, SW*q + FW] = chain(sum of X[n, g, c, p + h, q + w] * K[g, o, r, s, c] over taps)

    X   torch's N C H W as N G C/G H W      K   G O/G KH KW C/G, from torch's weight[C, O/G, KH, KW]

A transposed convolution spreads each pixel of X over a window of Y, windows SH and SW apart. The results whose row is
FH more than a multiple of SH and whose column is FW more than one of SW (a phase) meet every SH-th row of taps, and
every SW-th column: they are an ordinary convolution with stride 1. A launch makes one phase; Y is its view
y[:, :, :, FH::SH, FW::SW], with the strides of that view. A phase that no tap meets is made by `no_taps`.

Padding takes rows and columns of Y away, output padding adds some at its end: both only say which rows Y has.
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
    phase,
    tiling,
)

KH = ag.knob(3, legal=(1, 2, 3, 4, 5, 7, 9, 11), why="rows of the window")
KW = ag.knob(3, legal=(1, 2, 3, 4, 5, 7, 9, 11), why="columns of the window")
SH = ag.knob(2, legal=(1, 2, 3, 4, 5), why="stride along H: rows of Y between windows of neighboring rows of X")
SW = ag.knob(2, legal=(1, 2, 3, 4, 5), why="stride along W")
DH = ag.knob(1, legal=(1, 2, 3, 4), why="dilation along H: rows of Y between neighboring taps")
DW = ag.knob(1, legal=(1, 2, 3, 4), why="dilation along W")
PH = ag.knob(1, legal=(0, 1, 2, 3, 4, 6, 8), why="rows of the result that are left out above and below")
PW = ag.knob(1, legal=(0, 1, 2, 3, 4, 6, 8), why="columns that are left out left and right")
FH = ag.knob(0, legal=(0, 1, 2, 3, 4), why="phase: the first row of the view Y")
FW = ag.knob(0, legal=(0, 1, 2, 3, 4), why="phase: the first column of the view Y")
assert max(FH - SH, FW - SW) < 0, "there are as many phases as the stride"

TAPS_H, TAPS_W = phase(KH, SH, DH, PH, FH), phase(KW, SW, DW, PW, FW)
TILE = tiling(TAPS_H, TAPS_W, 1, 1)


def summed(parts):
    """A sum in index notation."""
    total = parts[0]
    for part in parts[1:]:
        total = f"{total} + {part}"
    return total


SUM = summed([f"sum(X[n, g, c, p + {h}, q + {w}] * K[g, o, {r}, {s}, c], c)" for r, h in TAPS_H for s, w in TAPS_W])
EVEN = f" and OW % {YW} == 0 and sP % {YW} == 0 and sO % {YW} == 0 and sG % {YW} == 0 and sN % {YW} == 0"
EVEN = EVEN if SW == 1 and YW > 1 else ""  # of phases with gaps, a thread stores pixel by pixel
WHOLE = ("N G O OH OW", T, f"sN sG sO sP {SW}")  # axes and type of Y and of a residual


@ag.kernel(
    threads=256,
    waves=(WP, WO),
    requires=f"{NEEDS} and IH >= 1 and IW >= 1 and OH >= 1 and OW >= 1 and sN >= 1 and sG >= 1" + EVEN,
    computes=f"Y[n, g, o, p, q] = {told(SUM, operands('[n, g, o, p, q]'))}",
    example=dict(
        N=1,
        G=2,
        C=BK + CW,
        IH=9,
        IW=5 * XW,
        O=40,
        OH=10,
        OW=32,
        sN=80 * 24 * SH * 32 * SW,
        sG=40 * 10 * SH * 32 * SW,
        sO=10 * SH * 32 * SW,
        sP=SH * 32 * SW,
    ),
    policy=dict(waves_per_simd=WAVES),
)
def conv_transpose2d(
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
        (1, 1),
        wp,
        ag.cdiv(C, BK),
        lambda c, plane: X[n, g, c, h0 + TILE["top"], w0 + TILE["left"]],
        lambda plane, r, s, c, j: K[g, o0 + 32 * j, r, s, c],
        lambda tensor, row, col, j: tensor[n, g, o0 + 32 * j, h0 + row, w0 + col],
        (n, g, o0),
        Y,
        {"U": U, "V": V, "W": W},
        [p0, p1, p2, p3, p4, p5, p6, p7],
        YW if SW == 1 else 1,
    )
