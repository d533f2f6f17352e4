"""A chain of elementwise functions with a factor and a bias that are broadcast along one axis.

    y = SECOND(FIRST(x) * scale + bias)          scale, bias: one number per position of the axis, or left out

X has axes (A, B, C); ALONG says which of them scale and bias have: `B` (channels of an image, with C = H * W; the first
axis of a matrix with A = 1) or `C` (the last axis; rows are A * B). FIRST and SECOND are names of
`argus.kernels.activations`; p and q are their parameters. f32, bf16 or f16 in and out, f32 arithmetic.

A workgroup takes a piece of one row of C elements; a thread moves CHUNKS times 16 bytes, and a row's last piece is
masked. With neither factor nor bias the array is one row: A = B = 1.
"""

import argus as ag
from argus import bf16, f16, f32
from argus.kernels.activations import NAMES, applied, stated

DTYPE = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of X and Y")
FIRST = ag.knob("relu", legal=NAMES, why="what x goes through first")
SECOND = ag.knob("none", legal=NAMES, why="what comes after factor and bias")
SCALE = ag.knob(False, legal=(False, True), why="multiply by scale")
BIAS = ag.knob(False, legal=(False, True), why="add bias")
ALONG = ag.knob("B", legal=("B", "C"), why="the axis of scale and bias")
CHUNKS = ag.knob(4, legal=(1, 2, 4, 8), why="16-byte accesses of a thread")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access; rows must be multiples of it")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
E = 16 // SIZE
SPAN = 256 * E * CHUNKS
PART = ag.Owner(p=CHUNKS, t=256, e=E, c=f"p*{256 * E} + t*{E} + e")
ONE = ag.Owner(t=256, z="t*0")

AT = "b" if ALONG == "B" else "c"
INNER = stated(FIRST, "X[a, b, c]", "p")
LINEAR = f"({INNER})" + (f" * scale[{AT}]" if SCALE else "") + (f" + bias[{AT}]" if BIAS else "")


@ag.kernel(
    threads=256,
    requires=f"A >= 1 and B >= 1 and C >= 1 and C % {max(1, WIDTH // SIZE)} == 0",
    computes=f"Y[a, b, c] = {stated(SECOND, LINEAR, 'q')}",
    example=dict(A=2, B=3, C=1000),
)
def map_chain(
    X: ag.In["A B C", T], scale: ag.In[ALONG, f32], bias: ag.In[ALONG, f32], Y: ag.Out["A B C", T], p: f32, q: f32
):
    a, b, bc = ag.grid(A, B, ag.cdiv(C, SPAN))
    at = bc * SPAN

    def broadcast(values):
        """One number for the row, or one for each of its elements."""
        if ALONG == "B":
            return values[b].load(ONE, width=4).without()
        return values[at].load(PART, width=min(16, WIDTH * 4 // SIZE), guard="shape")

    x = applied(FIRST, X[a, b, at].load(PART, width=WIDTH, guard="shape").to(f32), p)
    x = x * broadcast(scale) if SCALE else x
    x = x + broadcast(bias) if BIAS else x
    Y[a, b, at].store(applied(SECOND, x, q).to(T), width=WIDTH, guard="shape")
