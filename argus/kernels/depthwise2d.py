"""Depthwise convolution with padding, stride and dilation: every channel with its own KH x KW filter, then a chain.

    Y[b, c, p, q] = chain(sum of X[b, c, SH*p + DH*r - PH, SW*q + DW*s - PW] * F[c, r, s] over r, s)

X is the image itself; outside of it there are zeros. A thread makes WIDE neighbouring results of each of DEEP rows. It
loads a piece of a row of X that has all columns of its taps, once for all rows of results that the row is a tap of.
A workgroup has one channel, whose filter all its threads hold.

The chain is `argus.kernels.chain`; HAS_U says which axes its operand U has: `c` (a bias), `bc`, `all` (a residual of
the shape of Y) or `one` (a single number). Operands have the type of X, F is f32.
"""

import argus as ag
from argus import bf16, f16, f32
from argus.kernels.chain import after, told

DTYPE = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of X and Y")
KH = ag.knob(3, legal=(1, 2, 3, 4, 5, 7, 9, 11), why="rows of the window")
KW = ag.knob(3, legal=(1, 2, 3, 4, 5, 7, 9, 11), why="columns of the window")
SH = ag.knob(1, legal=(1, 2, 3, 4, 5), why="stride along H: rows of X between neighbors of Y")
SW = ag.knob(1, legal=(1, 2, 3, 4, 5), why="stride along W")
DH = ag.knob(1, legal=(1, 2, 3, 4), why="dilation along H: rows of X between neighboring taps")
DW = ag.knob(1, legal=(1, 2, 3, 4), why="dilation along W")
PH = ag.knob(1, legal=(0, 1, 2, 3, 4, 5, 6, 8), why="rows of zeros above and below X")
PW = ag.knob(1, legal=(0, 1, 2, 3, 4, 5, 6, 8), why="columns of zeros left and right of X")
XW = ag.knob(4, legal=(1, 2, 4, 8), why="pixels per access to X; IW must be a multiple of it")
WIDE = ag.knob(4, legal=(1, 2, 4, 8), why="neighbouring results of a thread")
YW = ag.knob(4, legal=(1, 2, 4, 8), why="pixels per access to Y; OW must be a multiple of it")
LANES = ag.knob(64, legal=(8, 16, 32, 64), why="threads along OW; the others are rows")
DEEP = ag.knob(4, legal=(1, 2, 4, 8), why="rows of results of a thread")
HAS_U = ag.knob("none", legal=("none", "one", "c", "bc", "all"), why="the axes of U")
HAS_V = ag.knob("none", legal=("none", "one", "c", "bc", "all"), why="the axes of V")
HAS_W = ag.knob("none", legal=("none", "one", "c", "bc", "all"), why="the axes of W")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
DOWN, ACROSS = 256 // LANES, LANES * WIDE  # threads along OH; columns of a workgroup
OUT = ag.Owner(t=256, e=WIDE, oh=f"t//{LANES}*{DEEP}", ow=f"t%{LANES}*{WIDE} + e")
ONE = ag.Owner(t=256, one="t*0")
assert WIDE * SW % XW == 0, "pieces of X begin at multiples of an access"
assert WIDE % YW == 0, "results are whole accesses"
assert max(XW, YW) * SIZE <= 16, "an access has at most 16 bytes"

SPAN_H, SPAN_W = DH * (KH - 1) + 1, DW * (KW - 1) + 1  # what a window covers of X
LEFT = -PW // XW * XW  # where the piece of a thread begins, a multiple of its accesses
PIECE = (SW * (WIDE - 1) + SPAN_W - PW - LEFT + XW - 1) // XW * XW
IN = ag.Owner(t=256, e=PIECE, ih=f"t//{LANES}*{DEEP * SH}", iw=f"t%{LANES}*{WIDE * SW} + e")
TAPS = [(r, s) for r in range(KH) for s in range(KW)]
AXES = {"none": "one=1", "one": "one=1", "c": "C", "bc": "B C", "all": "B C OH OW"}
AT = {"none": "[0]", "one": "[0]", "c": "[c]", "bc": "[b, c]", "all": "[b, c, p, q]"}


def place(scale, offset, index):
    """`scale * index + offset` in index notation."""
    return f"{scale} * {index} + {offset}" if offset >= 0 else f"{scale} * {index} - {-offset}"


def chained(parts):
    """A sum from its first term to its last, the order in which the kernel adds."""
    total = parts[0]
    for part in parts[1:]:
        total = f"{total} + {part}"
    return total


PRODUCTS = [f"X[b, c, {place(SH, DH * r - PH, 'p')}, {place(SW, DW * s - PW, 'q')}] * F[c, {r}, {s}]" for r, s in TAPS]
CHAINED = told(chained(PRODUCTS), {"U": f"U{AT[HAS_U]}", "V": f"V{AT[HAS_V]}", "W": f"W{AT[HAS_W]}"})


def tap(piece, s):
    """What a column of taps meets, for each of a thread's results."""
    first = DW * s - PW - LEFT
    if SW == 1:
        return piece.regs(first, WIDE).held_as(OUT)
    return ag.stack([piece.regs(first + SW * e, 1) for e in range(WIDE)], "z").held_as(OUT)


SIZES = f"OH == (IH + {2 * PH} - {SPAN_H}) // {SH} + 1 and OW == (IW + {2 * PW} - {SPAN_W}) // {SW} + 1"
W0 = [w for w in range(1, 800) if w + 2 * PW >= SPAN_W and ((w + 2 * PW - SPAN_W) // SW + 1) % YW == 0 and w % XW == 0][
    3
]
H0 = SPAN_H + 7 * SH


@ag.kernel(
    threads=256,
    requires=f"B >= 1 and C >= 1 and IH >= 1 and IW >= 1 and OW % {YW} == 0 and IW % {XW} == 0"
    + f" and IH + {2 * PH} >= {SPAN_H} and IW + {2 * PW} >= {SPAN_W} and {SIZES}",
    computes=f"Y[b, c, p, q] = {CHAINED}",
    example=dict(B=2, C=3, IH=H0, IW=W0, OH=(H0 + 2 * PH - SPAN_H) // SH + 1, OW=(W0 + 2 * PW - SPAN_W) // SW + 1),
)
def depthwise2d(
    X: ag.In["B C IH IW", T],
    F: ag.In[f"C KH={KH} KW={KW}", f32],
    U: ag.In[AXES[HAS_U], T],
    V: ag.In[AXES[HAS_V], T],
    W: ag.In[AXES[HAS_W], T],
    Y: ag.Out["B C OH OW", T],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    b, bp, bq, c = ag.grid(
        B, ag.cdiv(OH, DOWN * DEEP), ag.cdiv(OW, ACROSS), C
    )  # neighbors on one chiplet, if 8 divides C
    oh, ow = bp * DOWN * DEEP, bq * ACROSS
    factors = [F[c, r, s].load(ONE, width=4).without() for r, s in TAPS]
    totals = [ag.zeros(OUT, f32) for _ in range(DEEP)]
    for row in range(SH * (DEEP - 1) + SPAN_H):  # rows of X, each with all its columns of taps
        users = [(u, r) for u in range(DEEP) for r in range(KH) if SH * u + DH * r == row]
        if users:
            start = X[b, c, SH * oh + row - PH, SW * ow + LEFT]
            piece = start.load(IN, width=SIZE * XW, guard="shape").to(f32)
            taps = [tap(piece, s) for s in range(KW)]
            for u, r in users:
                for s in range(KW):
                    totals[u] = totals[u] + taps[s] * factors[r * KW + s]

    def given(values, kind, u):
        """An operand's part of a row of results."""
        return {
            "none": lambda: 0.0,
            "one": lambda: values[0].load(ONE, width=SIZE).without().to(f32),
            "c": lambda: values[c].load(ONE, width=SIZE).without().to(f32),
            "bc": lambda: values[b, c].load(ONE, width=SIZE).without().to(f32),
            "all": lambda: values[b, c, oh + u, ow].load(OUT, width=SIZE * YW, guard="shape").to(f32),
        }[kind]()

    for u in range(DEEP):
        parts = {"U": given(U, HAS_U, u), "V": given(V, HAS_V, u), "W": given(W, HAS_W, u)}
        y = after(totals[u], parts, [p0, p1, p2, p3, p4, p5, p6, p7])
        Y[b, c, oh + u, ow].store(y.to(T), width=SIZE * YW, guard="shape")
