"""Depthwise convolution: every channel with its own KH x KW filter, bias and an activation.

    Y[b, c, p, q] = ACT(sum of X[b, c, p, q, r, s] * F[c, r, s] over r, s + bias[c])

X is the input as windows (`argus.kernels.windows`).
A thread makes WIDE neighbouring results of DEEP rows; a workgroup has one channel, whose filter all its threads hold.
The taps of neighbours come from the L1, so that the input is read from memory once.
"""

import argus as ag
from argus import f32
from argus.kernels.activations import NAMES, applied, stated
from argus.kernels.windows import ACROSS, BYTES, HIGH, KH, KW, NEEDS, ONE, SIZE, STRIDES, TILE, WIDE, T

TAPS = [(r, s) for r in range(KH) for s in range(KW)]
BIAS = ag.knob(False, legal=(False, True), why="add bias[c]")
ACT = ag.knob("none", legal=NAMES, why="the activation of the result")


def chained(parts):
    """A sum from its first term to its last, the order in which the kernel adds."""
    total = parts[0]
    for part in parts[1:]:
        total = f"{total} + {part}"
    return total


PRODUCTS = [f"X[b, c, p, q, {r}, {s}] * F[c, {r}, {s}]" for r, s in TAPS]
SUM = chained(PRODUCTS) + (" + bias[c]" if BIAS else "")


@ag.kernel(
    threads=256,
    requires=f"B >= 1 and C >= 1 and sB >= 1 and {NEEDS}",
    computes=f"Y[b, c, p, q] = {stated(ACT, SUM, 'slope')}",
    example=dict(B=2, C=3, P=9, Q=72, sB=6000, sZ=2000, sP=100, sR=100),
)
def depthwise(
    X: ag.In[f"B C P Q r={KH} s={KW}", T, f"sB {STRIDES}"],
    F: ag.In[f"C r={KH} s={KW}", f32],
    bias: ag.In["C", f32],
    Y: ag.Out["B C P Q", T],
    slope: f32,
):
    b, c, bp, bq = ag.grid(B, C, ag.cdiv(P, HIGH), ag.cdiv(Q, ACROSS))
    p, q = bp * HIGH, bq * ACROSS
    factors = [F[c, r, s].load(ONE, width=4).without() for r, s in TAPS]
    total = ag.zeros(TILE, f32)
    for r in range(KH):  # a row of taps is in flight at a time
        taps = [X[b, c, p, q, r, s].load(TILE, width=BYTES, guard="shape").to(f32) for s in range(KW)]
        for s in range(KW):
            total = total + taps[s] * factors[r * KW + s]
    total = total + bias[c].load(ONE, width=4).without() if BIAS else total
    Y[b, c, p, q].store(applied(ACT, total, slope).to(T), width=SIZE * WIDE, guard="shape")
