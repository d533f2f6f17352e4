"""A copy of a view in row-major order: Y[a, b, c, d] = X[a, b, c, d], with X's strides as sizes of the launch.

What a permutation, a slice or a step leaves behind becomes an ordinary array, in the element type asked for. A
workgroup takes a piece of one row of D elements; a row's last piece is masked. Elements are moved one by one.
"""

import argus as ag
from argus import bf16, f16, f32

DTYPE = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of X")
RESULT = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of Y")
EACH = ag.knob(4, legal=(1, 2, 4), why="elements of a thread")

TYPES = {"f32": f32, "bf16": bf16, "f16": f16}
T, R = TYPES[DTYPE], TYPES[RESULT]
PART = ag.Owner(p=EACH, t=256, d="p*256 + t")


@ag.kernel(
    threads=256,
    requires="A >= 1 and B >= 1 and C >= 1 and D >= 1 and xA >= 1 and xB >= 1 and xC >= 1 and xD >= 1",
    computes="Y[a, b, c, d] = X[a, b, c, d]",
    example=dict(A=2, B=3, C=4, D=300, xA=3600, xB=1, xC=3, xD=12),
)
def reorder(X: ag.In["A B C D", T, "xA xB xC xD"], Y: ag.Out["A B C D", R]):
    a, b, c, bd = ag.grid(A, B, C, ag.cdiv(D, 256 * EACH))
    at = bd * 256 * EACH
    x = X[a, b, c, at].load(PART, width=4 if DTYPE == "f32" else 2, guard="shape").to(f32)
    Y[a, b, c, at].store(x.to(R), width=4 if RESULT == "f32" else 2, guard="shape")
