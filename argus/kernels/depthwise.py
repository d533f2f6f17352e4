"""Depthwise convolution: every channel with its own KH x KW filter, with a chain of elementwise steps after it.

    Y[b, c, p, q] = chain(sum of X[b, c, p, q, r, s] * F[c, r, s] over r, s)

X is the input as windows (`argus.kernels.windows`).
A thread makes WIDE neighbouring results of DEEP rows; a workgroup has one channel, whose filter all its threads hold.
The taps of neighbours come from the L1, so that the input is read from memory once.

The chain is `argus.kernels.chain`; HAS_U says which axes its operand U has: `c` (a bias), `bc`, `all` (a residual of
the shape of Y) or `one` (a single number). Operands have the type of X.
"""

import argus as ag
from argus import f32
from argus.kernels.chain import after, told
from argus.kernels.windows import ACROSS, BYTES, HIGH, KH, KW, NEEDS, ONE, SIZE, STRIDES, TILE, WIDE, T

TAPS = [(r, s) for r in range(KH) for s in range(KW)]
HAS_U = ag.knob("none", legal=("none", "one", "c", "bc", "all"), why="the axes of U")
HAS_V = ag.knob("none", legal=("none", "one", "c", "bc", "all"), why="the axes of V")
HAS_W = ag.knob("none", legal=("none", "one", "c", "bc", "all"), why="the axes of W")

AXES = {"none": "one=1", "one": "one=1", "c": "C", "bc": "B C", "all": "B C P Q"}
AT = {"none": "[0]", "one": "[0]", "c": "[c]", "bc": "[b, c]", "all": "[b, c, p, q]"}


def chained(parts):
    """A sum from its first term to its last, the order in which the kernel adds."""
    total = parts[0]
    for part in parts[1:]:
        total = f"{total} + {part}"
    return total


PRODUCTS = [f"X[b, c, p, q, {r}, {s}] * F[c, {r}, {s}]" for r, s in TAPS]
CHAINED = told(chained(PRODUCTS), {"U": f"U{AT[HAS_U]}", "V": f"V{AT[HAS_V]}", "W": f"W{AT[HAS_W]}"})


@ag.kernel(
    threads=256,
    requires=f"B >= 1 and C >= 1 and sB >= 1 and {NEEDS}",
    computes=f"Y[b, c, p, q] = {CHAINED}",
    example=dict(B=2, C=3, P=9, Q=72, sB=6000, sZ=2000, sP=100, sR=100),
)
def depthwise(
    X: ag.In[f"B C P Q r={KH} s={KW}", T, f"sB {STRIDES}"],
    F: ag.In[f"C r={KH} s={KW}", f32],
    U: ag.In[AXES[HAS_U], T],
    V: ag.In[AXES[HAS_V], T],
    W: ag.In[AXES[HAS_W], T],
    Y: ag.Out["B C P Q", T],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    b, c, bp, bq = ag.grid(B, C, ag.cdiv(P, HIGH), ag.cdiv(Q, ACROSS))
    p, q = bp * HIGH, bq * ACROSS
    factors = [F[c, r, s].load(ONE, width=4).without() for r, s in TAPS]
    total = ag.zeros(TILE, f32)
    for r in range(KH):  # a row of taps is in flight at a time
        taps = [X[b, c, p, q, r, s].load(TILE, width=BYTES, guard="shape").to(f32) for s in range(KW)]
        for s in range(KW):
            total = total + taps[s] * factors[r * KW + s]

    def given(values, kind):
        """An operand's part of the tile."""
        return {
            "none": lambda: 0.0,
            "one": lambda: values[0].load(ONE, width=SIZE).without().to(f32),
            "c": lambda: values[c].load(ONE, width=SIZE).without().to(f32),
            "bc": lambda: values[b, c].load(ONE, width=SIZE).without().to(f32),
            "all": lambda: values[b, c, p, q].load(TILE, width=SIZE * WIDE, guard="shape").to(f32),
        }[kind]()

    parts = {"U": given(U, HAS_U), "V": given(V, HAS_V), "W": given(W, HAS_W)}
    y = after(total, parts, [p0, p1, p2, p3, p4, p5, p6, p7])
    Y[b, c, p, q].store(y.to(T), width=SIZE * WIDE, guard="shape")
