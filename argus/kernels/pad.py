"""Padding: X copied into the middle of a larger array, whose border holds what it held before.

    Y[z, h, w] = X[z, h, w]          Y: the part of the padded array that starts at its first inner element

Y is a view with the padded array's strides, so that nothing outside of it is written: allocate the padded array with
zeros (or -inf, before a maximum), and pass `padded[:, top:top + H, left:left + W]`. Convolutions and pooling with
padding read the padded array (`argus.kernels.windows`).
"""

import argus as ag
from argus import bf16, f16, f32

DTYPE = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type; only its size matters")
LANES = ag.knob(64, legal=(16, 64), why="threads along W; the others are rows")
DEEP = ag.knob(4, legal=(1, 2, 4, 8), why="rows of a thread")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
HIGH = 256 // LANES * DEEP
TILE = ag.Owner(t=256, u=DEEP, h=f"u*{256 // LANES} + t//{LANES}", w=f"t%{LANES}")


@ag.kernel(
    threads=256,
    requires="Z >= 1 and H >= 1 and W >= 1 and sZ >= 1 and sH >= 1",
    computes="Y[z, h, w] = X[z, h, w]",
    example=dict(Z=2, H=30, W=70, sZ=3000, sH=80),
)
def pad(X: ag.In["Z H W", T], Y: ag.Out["Z H W", T, "sZ sH 1"]):
    z, bh, bw = ag.grid(Z, ag.cdiv(H, HIGH), ag.cdiv(W, LANES))
    h, w = bh * HIGH, bw * LANES
    Y[z, h, w].store(X[z, h, w].load(TILE, width=SIZE, guard="shape"), width=SIZE, guard="shape")
