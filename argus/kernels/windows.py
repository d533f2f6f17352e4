"""What pooling and depthwise convolution share: a window of taps as an overlapping view of one input.

    X: ag.In["Z P Q r=3 s=3", f32, "sZ sP 1 sR 1"]        X[z, p, q, r, s] is input[z, p + r, q + s] if sP = sR = W

The view is one tensor of the launch: element (z, p, q, r, s) lies z * sZ + p * sP + q * STRIDE + r * sR + s * DILATION
elements behind the first. For an input of rows W apart, sP is the stride along H times W, and sR the dilation along H
times W; strides and dilations along W are knobs, so that neighbouring q are known to be neighbours in memory. The
memory it reaches is that of the input; `numpy.lib.stride_tricks.as_strided` and `torch.as_strided` make such views.

Padding: the input lies inside a larger one whose border holds zeros (or -inf for a maximum). In one dimension P = 1
and KH = 1, and Z has all the other axes. There is no kernel here; the file is imported, read as data.
"""

import argus as ag
from argus import bf16, f16, f32

DTYPE = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of X and Y")
KH = ag.knob(3, legal=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16), why="rows of a window")
KW = ag.knob(3, legal=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16), why="columns of a window")
STRIDE = ag.knob(1, legal=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16), why="columns from one window to the next")
DILATION = ag.knob(1, legal=(1, 2, 3), why="columns from one tap to the next")
WIDE = ag.knob(4, legal=(1, 4), why="neighbouring results of a thread; Q must be a multiple of it")
LANES = ag.knob(64, legal=(8, 16, 32, 64), why="threads along Q; the others are rows")
DEEP = ag.knob(2, legal=(1, 2, 4), why="rows of results of a thread")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
DOWN, ACROSS = 256 // LANES, LANES * WIDE  # a workgroup's results: rows, columns
TILE = ag.Owner(t=256, u=DEEP, e=WIDE, p=f"u*{DOWN} + t//{LANES}", q=f"t%{LANES}*{WIDE} + e")
HIGH = DOWN * DEEP
ONE = ag.Owner(t=256, z="t*0")
STRIDES = f"sZ sP {STRIDE} sR {DILATION}"
BYTES = SIZE * WIDE if STRIDE == 1 else SIZE  # of a load
NEEDS = f"P >= 1 and Q >= 1 and Q % {WIDE} == 0 and sZ >= 1 and sP >= 1 and sR >= 1"
