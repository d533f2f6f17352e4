"""Average of windows in three dimensions, padding inside, in one launch, and a chain after it.

    Y[z, t, p, q] = chain(sum of X[z, SD*t + d - PD, SH*p + r - PH, SW*q + s - PW] over d, r, s / (KD * KH * KW))

Z is images times channels. Outside of X there are zeros, which count: torch's `count_include_pad`. A thread makes WIDE
neighbouring results of DEEP rows of FRONT planes. It loads the piece of a row of X that has all columns of its taps,
adds these for each result, then rows, then planes: so every element is loaded once for what a thread makes, and the
rows and planes that neighbours share come from the caches.

The chain is `argus.kernels.chain`; its operands have all axes of Y (`all`) or are a single number (`one`).
"""

import argus as ag
from argus import bf16, f16, f32
from argus.kernels.chain import after, told

DTYPE = ag.knob("bf16", legal=("f32", "bf16", "f16"), why="element type of X and Y")
KD = ag.knob(3, legal=(1, 2, 3, 4, 5, 7), why="planes of a window")
KH = ag.knob(3, legal=(1, 2, 3, 4, 5, 7), why="rows of a window")
KW = ag.knob(3, legal=(1, 2, 3, 4, 5, 7), why="columns of a window")
SD = ag.knob(2, legal=(1, 2, 3, 4, 5), why="planes from one window to the next")
SH = ag.knob(2, legal=(1, 2, 3, 4, 5), why="rows from one window to the next")
SW = ag.knob(2, legal=(1, 2, 3, 4, 5), why="columns from one window to the next")
PD = ag.knob(1, legal=(0, 1, 2, 3), why="planes of zeros before and behind X")
PH = ag.knob(1, legal=(0, 1, 2, 3), why="rows of zeros above and below X")
PW = ag.knob(1, legal=(0, 1, 2, 3), why="columns of zeros left and right of X")
XW = ag.knob(8, legal=(1, 2, 4, 8), why="elements per access to X; IW must be a multiple of it")
WIDE = ag.knob(8, legal=(1, 2, 4, 8), why="neighbouring results of a thread")
YW = ag.knob(8, legal=(1, 2, 4, 8), why="elements per access to Y; OW must be a multiple of it")
LANES = ag.knob(16, legal=(8, 16, 32, 64), why="threads along OW; the others are rows")
DEEP = ag.knob(2, legal=(1, 2, 4), why="rows of results of a thread")
FRONT = ag.knob(2, legal=(1, 2, 4), why="planes of results of a thread")
HAS_U = ag.knob("none", legal=("none", "one", "all"), why="the axes of U")
HAS_V = ag.knob("none", legal=("none", "one", "all"), why="the axes of V")
HAS_W = ag.knob("none", legal=("none", "one", "all"), why="the axes of W")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
DOWN, ACROSS = 256 // LANES, LANES * WIDE  # threads along OH; columns of a workgroup
OUT = ag.Owner(t=256, e=WIDE, oh=f"t//{LANES}*{DEEP}", ow=f"t%{LANES}*{WIDE} + e")
ONE = ag.Owner(t=256, one="t*0")
assert WIDE * SW % XW == 0, "pieces of X begin at multiples of an access"
assert WIDE % YW == 0, "results are whole accesses"
assert max(XW, YW) * SIZE <= 16, "an access has at most 16 bytes"

LEFT = -PW // XW * XW  # where the piece of a thread begins, a multiple of its accesses
PIECE = (SW * (WIDE - 1) + KW - PW - LEFT + XW - 1) // XW * XW
IN = ag.Owner(t=256, e=PIECE, ih=f"t//{LANES}*{DEEP * SH}", iw=f"t%{LANES}*{WIDE * SW} + e")
AT = f"{SD} * t + d - {PD}, {SH} * p + r - {PH}, {SW} * q + s - {PW}"
MEAN = f"sum(sum(sum(X[z, {AT}], s, {KW}), r, {KH}), d, {KD}) / {KD * KH * KW}"
AXES = {"none": "one=1", "one": "one=1", "all": "Z OD OH OW"}
PLACE = {"none": "[0]", "one": "[0]", "all": "[z, t, p, q]"}
CHAINED = told(MEAN, {"U": f"U{PLACE[HAS_U]}", "V": f"V{PLACE[HAS_V]}", "W": f"W{PLACE[HAS_W]}"})
FITS = f"ID + {2 * PD} >= {KD} and IH + {2 * PH} >= {KH} and IW + {2 * PW} >= {KW}"
DEPTH = f"OD == (ID + {2 * PD} - {KD}) // {SD} + 1"
PLANE = f"OH == (IH + {2 * PH} - {KH}) // {SH} + 1 and OW == (IW + {2 * PW} - {KW}) // {SW} + 1"
WIDTHS = [w for w in range(XW, 900, XW) if w + 2 * PW >= KW and ((w + 2 * PW - KW) // SW + 1) % YW == 0]
D0, H0, W0 = KD + 3 * SD, KH + 7 * SH, WIDTHS[2]  # of the example


def tap(piece, s):
    """What a column of taps meets, for each of a thread's results."""
    first = s - PW - LEFT
    if SW == 1:
        return piece.regs(first, WIDE).held_as(OUT)
    return ag.stack([piece.regs(first + SW * e, 1) for e in range(WIDE)], "z").held_as(OUT)


def across(piece):
    """The sums of a row's taps, for each of a thread's columns."""
    total = tap(piece, 0)
    for s in range(1, KW):
        total = total + tap(piece, s)
    return total


@ag.kernel(
    threads=256,
    requires=f"Z >= 1 and ID >= 1 and IH >= 1 and IW >= 1 and OW % {YW} == 0 and IW % {XW} == 0"
    + f" and {FITS} and {DEPTH} and {PLANE}",
    computes=f"Y[z, t, p, q] = {CHAINED}",
    example=dict(
        Z=2, ID=D0, IH=H0, IW=W0, OD=(D0 + 2 * PD - KD) // SD + 1, OH=(H0 + 2 * PH - KH) // SH + 1,
        OW=(W0 + 2 * PW - KW) // SW + 1,
    ),
)  # fmt: skip
def pool_volumes(
    X: ag.In["Z ID IH IW", T],
    U: ag.In[AXES[HAS_U], T],
    V: ag.In[AXES[HAS_V], T],
    W: ag.In[AXES[HAS_W], T],
    Y: ag.Out["Z OD OH OW", T],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    z, bt, bp, bq = ag.grid(Z, ag.cdiv(OD, FRONT), ag.cdiv(OH, DOWN * DEEP), ag.cdiv(OW, ACROSS))
    t, p, q = bt * FRONT, bp * DOWN * DEEP, bq * ACROSS
    totals = [[ag.zeros(OUT, f32) for _ in range(DEEP)] for _ in range(FRONT)]
    for plane in range(SD * (FRONT - 1) + KD):
        rows = [ag.zeros(OUT, f32) for _ in range(DEEP)]
        for row in range(SH * (DEEP - 1) + KH):
            start = X[z, SD * t + plane - PD, SH * p + row - PH, SW * q + LEFT]
            taps = across(start.load(IN, width=SIZE * XW, guard="shape").to(f32))
            for u in range(DEEP):
                rows[u] = rows[u] + taps if 0 <= row - SH * u < KH else rows[u]
        for v in range(FRONT):
            if 0 <= plane - SD * v < KD:
                totals[v] = [totals[v][u] + rows[u] for u in range(DEEP)]

    def given(values, kind, v, u):
        """An operand's part of a row of results."""
        return {
            "none": lambda: 0.0,
            "one": lambda: values[0].load(ONE, width=SIZE).without().to(f32),
            "all": lambda: values[z, t + v, p + u, q].load(OUT, width=SIZE * YW, guard="shape").to(f32),
        }[kind]()

    for v in range(FRONT):
        for u in range(DEEP):
            parts = {"U": given(U, HAS_U, v, u), "V": given(V, HAS_V, v, u), "W": given(W, HAS_W, v, u)}
            y = after(totals[v][u] / f32(KD * KH * KW), parts, [p0, p1, p2, p3, p4, p5, p6, p7])
            Y[z, t + v, p + u, q].store(y.to(T), width=SIZE * YW, guard="shape")
