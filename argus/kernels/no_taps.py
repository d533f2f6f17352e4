"""A phase of a transposed convolution that no tap meets: the chain of steps of zero.

    Y[n, g, o, t, p, q] = chain(0)          S0="add_U" HAS_U="go" S1="relu": bias and activation

With a stride of 2 and a dilation of 2 every second row of the result is like this, and so are rows between windows that
are smaller than the stride. Y and operands with all its axes are views as in `conv_transpose3d`; in two dimensions
OD = 1. The chain and its operands: `argus.kernels.implicit_gemm`.
"""

import argus as ag
from argus import f32
from argus.kernels.chain import after, told
from argus.kernels.implicit_gemm import HAS_U, HAS_V, HAS_W, SIZE, T, operand, operands

SW = ag.knob(2, legal=(1, 2, 3, 4, 5), why="columns of the whole result from one of the phase to the next")
HIGH = ag.knob(4, legal=(1, 4), why="rows of a workgroup: one, where the phase has no other")
ITEMS = ag.knob(1, legal=(1, 2, 4, 8), why="results of a thread, one after the other along a row")

COLS = 256 // HIGH  # threads along a row
SPAN = COLS * ITEMS
TILE = ag.Owner(t=256, i=ITEMS, oh=f"t//{COLS}", ow=f"i*{COLS} + t%{COLS}")
ONE = ag.Owner(t=256, one="t*0")
WHOLE = ("N G O OD OH OW", T, f"sN sG sO sT sP {SW}")  # axes and type of Y and of a residual


@ag.kernel(
    threads=256,
    requires="N >= 1 and G >= 1 and O >= 1 and OD >= 1 and OH >= 1 and OW >= 1",
    computes=f"Y[n, g, o, t, p, q] = {told('0', operands('[n, g, o, t, p, q]'))}",
    example=dict(N=1, G=2, O=5, OD=3, OH=10, OW=70, sN=210000, sG=105000, sO=21000, sT=7000, sP=140 * SW),
)
def no_taps(
    U: ag.In[operand(HAS_U, WHOLE)],
    V: ag.In[operand(HAS_V, WHOLE)],
    W: ag.In[operand(HAS_W, WHOLE)],
    Y: ag.Out[WHOLE],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    n, g, o, t, bp, bq = ag.grid(N, G, O, OD, ag.cdiv(OH, HIGH), ag.cdiv(OW, SPAN))

    def given(values, kind):
        """An operand's part of the tile."""
        return {
            "none": lambda: 0.0,
            "one": lambda: values[0].load(ONE, width=SIZE).without().to(f32),
            "go": lambda: values[g, o].load(ONE, width=SIZE).without().to(f32),
            "ngo": lambda: values[n, g, o].load(ONE, width=SIZE).without().to(f32),
            "all": lambda: values[n, g, o, t, HIGH * bp, SPAN * bq].load(TILE, width=SIZE, guard="shape").to(f32),
        }[kind]()

    parts = {"U": given(U, HAS_U), "V": given(V, HAS_V), "W": given(W, HAS_W)}
    y = after(ag.zeros(TILE, f32), parts, [p0, p1, p2, p3, p4, p5, p6, p7])
    Y[n, g, o, t, HIGH * bp, SPAN * bq].store(y.to(T), width=SIZE, guard="shape")
