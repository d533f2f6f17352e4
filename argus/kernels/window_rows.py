"""The windows of an image as rows of a matrix: Y[n, p, q] has what the filter at (p, q) sees, channel by channel.

    Y[n, p, q, c, r, s] = X[n, p, q, c, r, s]       X: the padded image as windows, element (n, c, p * stride + r, ...)

X is an overlapping view, as in `argus.kernels.windows`; Y has rows of yQ elements, of which the first C * KH * KW are
written: yQ is a multiple of a k-step of `argus.kernels.matmul`, and what lies behind holds zeros. A convolution is then
a product with a row for every pixel. That moves every element of X once for every window it is in, which pays where
there are too few channels for a matrix instruction.

A wave makes rows, lanes along them; a thread makes QS of them.
"""

import argus as ag
from argus import bf16, f16

DTYPE = ag.knob("bf16", legal=("bf16", "f16"), why="element type; only its size matters")
CHANNELS = ag.knob(3, legal=(1, 2, 3, 4), why="channels of X")
KH = ag.knob(11, legal=(5, 7, 9, 11), why="rows of a window")
KW = ag.knob(11, legal=(5, 7, 9, 11), why="columns of a window")
STRIDE = ag.knob(4, legal=(1, 2, 3, 4, 5), why="columns from one window to the next")
QS = ag.knob(4, legal=(1, 2, 4), why="rows of Y of a wave")

T = bf16 if DTYPE == "bf16" else f16
TAPS = KH * KW
LANES = 64
PASSES = (CHANNELS * TAPS + LANES - 1) // LANES
K = f"(u*{LANES} + t%{LANES})"
TILE = ag.Owner(
    v=QS, t=256, u=PASSES, q=f"v*4 + t//{LANES}", c=f"{K}//{TAPS}", r=f"{K}//{KW}%{KH}", s=f"{K}%{KW}"
)  # fmt: skip


@ag.kernel(
    threads=256,
    requires="N >= 1 and P >= 1 and Q >= 1 and sN >= 1 and sP >= 1 and sC >= 1 and sR >= 1",
    computes="Y[n, p, q, c, r, s] = X[n, p, q, c, r, s]",
    example=dict(N=2, P=3, Q=18, sN=24000, sP=400, sC=6000, sR=100, yN=40000, yP=10000, yQ=512),
)
def window_rows(
    X: ag.In[f"N P Q c={CHANNELS} r={KH} s={KW}", T, f"sN sP {STRIDE} sC sR 1"],
    Y: ag.Out[f"N P Q c={CHANNELS} r={KH} s={KW}", T, f"yN yP yQ {TAPS} {KW} 1"],
):
    n, p, bq = ag.grid(N, P, ag.cdiv(Q, 4 * QS))
    q = bq * 4 * QS
    Y[n, p, q].store(X[n, p, q].load(TILE, width=2, guard="shape"), width=2, guard="shape")
