"""Elementwise chains: Y[a, b, c] = chain(X[a, b, c]), with up to three operands that are broadcast.

Y has axes (A, B, C), and so has X, unless HAS_X says that it is broadcast too. HAS_U says which axes the operand U has:
`b` is one number per position of B (the channels of an image, with C = H * W), `c` one per column, `abc` one per
element, `one` a single number. The chain: `argus.kernels.chain`.

A workgroup takes a piece of one row of C elements; a thread moves CHUNKS times four elements, and a row's last piece is
masked. An array without operands is one row: A = B = 1.
"""

import argus as ag
from argus import bf16, f16, f32
from argus.kernels.chain import after, told

AXES = {
    "none": "one=1",
    "one": "one=1",
    "a": "A",
    "b": "B",
    "c": "C",
    "ab": "A B",
    "ac": "A C",
    "bc": "B C",
    "abc": "A B C",
}
AT = {
    "none": "[0]",
    "one": "[0]",
    "a": "[a]",
    "b": "[b]",
    "c": "[c]",
    "ab": "[a, b]",
    "ac": "[a, c]",
    "bc": "[b, c]",
    "abc": "[a, b, c]",
}
KINDS = list(AXES)

DTYPE = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of X")
GIVEN = ag.knob("X", legal=("X", "f32", "bf16", "f16"), why="element type of the operands; X: that of X")
RESULT = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of Y")
HAS_X = ag.knob("abc", legal=KINDS[1:], why="the axes of X")
HAS_U = ag.knob("none", legal=KINDS, why="the axes of U")
HAS_V = ag.knob("none", legal=KINDS, why="the axes of V")
HAS_W = ag.knob("none", legal=KINDS, why="the axes of W")
CHUNKS = ag.knob(4, legal=(1, 2, 4, 8), why="accesses of four elements of a thread")
WIDE = ag.knob(4, legal=(1, 2, 4), why="elements per access; C must be a multiple of it")

TYPES = {"f32": f32, "bf16": bf16, "f16": f16}
T, R = TYPES[DTYPE], TYPES[RESULT]
OPERANDS = DTYPE if GIVEN == "X" else GIVEN
G = TYPES[OPERANDS]
SIZE, EACH = 4 if DTYPE == "f32" else 2, 4 if OPERANDS == "f32" else 2
SPAN = 256 * 4 * CHUNKS
PART = ag.Owner(p=CHUNKS, t=256, e=4, c="p*1024 + t*4 + e")
ONE = ag.Owner(t=256, z="t*0")


@ag.kernel(
    threads=256,
    requires=f"A >= 1 and B >= 1 and C >= 1 and C % {WIDE} == 0",
    computes="Y[a, b, c] = "
    + told(f"X{AT[HAS_X]}", {"U": f"U{AT[HAS_U]}", "V": f"V{AT[HAS_V]}", "W": f"W{AT[HAS_W]}"}),
    example=dict(A=2, B=3, C=1000),
)
def fused_map(
    X: ag.In[AXES[HAS_X], T],
    U: ag.In[AXES[HAS_U], G],
    V: ag.In[AXES[HAS_V], G],
    W: ag.In[AXES[HAS_W], G],
    Y: ag.Out["A B C", R],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    a, b, bc = ag.grid(A, B, ag.cdiv(C, SPAN))
    at = bc * SPAN

    def operand(values, kind, size):
        def one(place):
            """The number of a row, in every thread."""
            return place.load(ONE, width=size).without().to(f32)

        def each(place):
            """A number for every element of the piece."""
            return place.load(PART, width=size * WIDE, guard="shape").to(f32)

        return {
            "none": lambda: 0.0,
            "one": lambda: one(values[0]),
            "a": lambda: one(values[a]),
            "b": lambda: one(values[b]),
            "c": lambda: each(values[at]),
            "ab": lambda: one(values[a, b]),
            "ac": lambda: each(values[a, at]),
            "bc": lambda: each(values[b, at]),
            "abc": lambda: each(values[a, b, at]),
        }[kind]()

    x = operand(X, HAS_X, SIZE)
    given = {"U": operand(U, HAS_U, EACH), "V": operand(V, HAS_V, EACH), "W": operand(W, HAS_W, EACH)}
    y = after(x, given, [p0, p1, p2, p3, p4, p5, p6, p7])
    Y[a, b, at].store(y.to(R), width=(4 if RESULT == "f32" else 2) * WIDE, guard="shape")
