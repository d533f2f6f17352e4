"""Pooling: maximum or average of windows, in one or two dimensions, with stride and dilation, and a chain after it.

    Y[z, p, q] = chain(max of X[z, p, q, r, s] over r, s)          X: the input as windows (argus.kernels.windows)

Z is images times channels. A thread makes WIDE neighbouring results of DEEP rows; the taps of neighbours come from the
L1, so that the input is read from memory once.

The chain is `argus.kernels.chain`; its operands have all axes of Y (`all`) or are a single number (`one`).
"""

import argus as ag
from argus import f32, inf
from argus.kernels.chain import after, told
from argus.kernels.windows import ACROSS, BYTES, HIGH, KH, KW, NEEDS, ONE, SIZE, STRIDES, TILE, WIDE, T

OP = ag.knob("max", legal=("max", "mean"), why="what is taken of a window")
HAS_U = ag.knob("none", legal=("none", "one", "all"), why="the axes of U")
HAS_V = ag.knob("none", legal=("none", "one", "all"), why="the axes of V")
HAS_W = ag.knob("none", legal=("none", "one", "all"), why="the axes of W")

REDUCE = "max" if OP == "max" else "sum"
TAP = f"X[z, p, q, {'r' if KH > 1 else 0}, {'s' if KW > 1 else 0}]"
ROWWISE = f"{REDUCE}({TAP}, s)" if KW > 1 else TAP
WINDOW = f"{REDUCE}({ROWWISE}, r)" if KH > 1 else ROWWISE
AXES = {"none": "one=1", "one": "one=1", "all": "Z P Q"}
AT = {"none": "[0]", "one": "[0]", "all": "[z, p, q]"}
CHAINED = told(
    WINDOW + (f" / {KH * KW}" if OP == "mean" else ""),
    {"U": f"U{AT[HAS_U]}", "V": f"V{AT[HAS_V]}", "W": f"W{AT[HAS_W]}"},
)
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
    computes=f"Y[z, p, q] = {CHAINED}",
    example=dict(Z=3, P=9, Q=72, sZ=2000, sP=100, sR=100),
)
def pool(
    X: ag.In[f"Z P Q r={KH} s={KW}", T, STRIDES],
    U: ag.In[AXES[HAS_U], T],
    V: ag.In[AXES[HAS_V], T],
    W: ag.In[AXES[HAS_W], T],
    Y: ag.Out["Z P Q", T],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    z, bp, bq = ag.grid(Z, ag.cdiv(P, HIGH), ag.cdiv(Q, ACROSS))
    p, q = bp * HIGH, bq * ACROSS
    total = ag.full(TILE, f32, START)
    for r in range(KH):  # a row of taps is in flight at a time
        taps = [X[z, p, q, r, s].load(TILE, width=BYTES, guard="shape").to(f32) for s in range(KW)]
        total = joined(total, folded(taps, joined))
    total = total / f32(KH * KW) if OP == "mean" else total

    def given(values, kind):
        """An operand's part of the tile."""
        return {
            "none": lambda: 0.0,
            "one": lambda: values[0].load(ONE, width=SIZE).without().to(f32),
            "all": lambda: values[z, p, q].load(TILE, width=SIZE * WIDE, guard="shape").to(f32),
        }[kind]()

    parts = {"U": given(U, HAS_U), "V": given(V, HAS_V), "W": given(W, HAS_W)}
    y = after(total, parts, [p0, p1, p2, p3, p4, p5, p6, p7])
    Y[z, p, q].store(y.to(T), width=SIZE * WIDE, guard="shape")
