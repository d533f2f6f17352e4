"""Pooling: maximum or average of windows, in one or two dimensions, with stride and dilation.

    Y[z, p, q] = max of X[z, p, q, r, s] over r, s           X: the input as windows (argus.kernels.windows)

Z is images times channels. A thread makes WIDE neighbouring results of DEEP rows; the taps of neighbours come from the
L1, so that the input is read from memory once.
"""

import argus as ag
from argus import f32, inf
from argus.kernels.windows import ACROSS, BYTES, HIGH, KH, KW, NEEDS, SIZE, STRIDES, TILE, WIDE, T

OP = ag.knob("max", legal=("max", "mean"), why="what is taken of a window")

REDUCE = "max" if OP == "max" else "sum"
TAP = f"X[z, p, q, {'r' if KH > 1 else 0}, {'s' if KW > 1 else 0}]"
ROWWISE = f"{REDUCE}({TAP}, s)" if KW > 1 else TAP
STATED = f"{REDUCE}({ROWWISE}, r)" if KH > 1 else ROWWISE
START = -inf if OP == "max" else 0.0


def folded(parts, join):
    """A row's taps joined in pairs, then pairs of pairs."""
    for level in range(4):
        parts = [
            join(parts[2 * i], parts[2 * i + 1]) if 2 * i + 1 < len(parts) else parts[2 * i]
            for i in range((len(parts) + 1) // 2)
        ]
    return parts[0]


def joined(x, y):
    return ag.max(x, y) if OP == "max" else x + y


@ag.kernel(
    threads=256,
    requires=f"Z >= 1 and {NEEDS}",
    computes=f"Y[z, p, q] = {STATED}" + (f" / {KH * KW}" if OP == "mean" else ""),
    example=dict(Z=3, P=9, Q=72, sZ=2000, sP=100, sR=100),
)
def pool(X: ag.In[f"Z P Q r={KH} s={KW}", T, STRIDES], Y: ag.Out["Z P Q", T]):
    z, bp, bq = ag.grid(Z, ag.cdiv(P, HIGH), ag.cdiv(Q, ACROSS))
    p, q = bp * HIGH, bq * ACROSS
    total = ag.full(TILE, f32, START)
    for r in range(KH):  # a row of taps is in flight at a time
        taps = [X[z, p, q, r, s].load(TILE, width=BYTES, guard="shape").to(f32) for s in range(KW)]
        total = joined(total, folded(taps, joined))
    total = total / f32(KH * KW) if OP == "mean" else total
    Y[z, p, q].store(total.to(T), width=SIZE * WIDE, guard="shape")
