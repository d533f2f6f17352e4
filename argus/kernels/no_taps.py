"""A phase of a transposed convolution that no tap meets: the bias with its activation, or zeros.

    Y[n, g, o, t, p, q] = ACT(bias[g, o])

With a stride of 2 and a dilation of 2 every second row of the result is like this, and so are rows between windows that
are smaller than the stride. Y is a view as in `conv_transpose3d`; in two dimensions OD = 1.
"""

import argus as ag
from argus import bf16, f16, f32
from argus.kernels.activations import NAMES, applied, stated

DTYPE = ag.knob("bf16", legal=("bf16", "f16", "f32"), why="element type of Y")
SW = ag.knob(2, legal=(1, 2, 3, 4, 5), why="columns of the whole result from one of the phase to the next")
BIAS = ag.knob(True, legal=(False, True), why="bias[g, o] is the result; otherwise zero")
ACT = ag.knob("none", legal=NAMES, why="the activation of the result")

T = {"bf16": bf16, "f16": f16, "f32": f32}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
TILE = ag.Owner(t=256, oh="t//64", ow="t%64")  # a workgroup has four rows of 64


@ag.kernel(
    threads=256,
    requires="N >= 1 and G >= 1 and O >= 1 and OD >= 1 and OH >= 1 and OW >= 1",
    computes=f"Y[n, g, o, t, p, q] = {stated(ACT, 'bias[g, o]' if BIAS else '0', 'slope')}",
    example=dict(N=1, G=2, O=5, OD=3, OH=10, OW=70, sN=210000, sG=105000, sO=21000, sT=7000, sP=140 * SW),
)
def no_taps(bias: ag.In["G O", f32], Y: ag.Out["N G O OD OH OW", T, f"sN sG sO sT sP {SW}"], slope: f32):
    n, g, o, t, bp, bq = ag.grid(N, G, O, OD, ag.cdiv(OH, 4), ag.cdiv(OW, 64))
    y = ag.zeros(TILE, f32)
    y = y + bias[g, o].load(ag.Owner(t=256, o="t*0"), width=4).without() if BIAS else y
    Y[n, g, o, t, 4 * bp, 64 * bq].store(applied(ACT, y, slope).to(T), width=SIZE, guard="shape")
