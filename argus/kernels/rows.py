"""What softmax, layernorm, rmsnorm and rowreduce share: knobs, who holds a row, sums and maxima of a row.

    from argus.kernels.rows import LANES, ROW, ROWS, WIDTH, added, of_waves

A row belongs to WAVES waves (with one, four rows to a workgroup); a thread holds CHUNKS times 16 bytes of it. A
reduction has two parts: over registers and lanes (`added`, `largest`: one number for a wave), and over the waves of a
row through LDS (`of_waves`, `largest_of_waves`). There is no kernel here; the file is imported, read as data.
"""

import argus as ag
from argus import bf16, f16, f32

DTYPE = ag.knob("bf16", legal=("f32", "bf16", "f16"), why="element type of X and Y")
WAVES = ag.knob(1, legal=(1, 2, 4, 8, 16), why="waves that share a row")
CHUNKS = ag.knob(2, legal=(1, 2, 3, 4, 6, 8), why="16-byte accesses of a thread per row")
EXACT = ag.knob(False, legal=(False, True), why="rows fill the registers exactly: nothing to mask")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access; rows must be multiples of it")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
E = 16 // SIZE
ROWS = 4 if WAVES == 1 else 1
LANES = 64 * WAVES
SPAN = LANES * E * CHUNKS

# The lanes of a row hold 16 neighbouring bytes each, p times.
ROW = (
    ag.Owner(lane=64, p=CHUNKS, e=E, n=f"p*{64 * E} + lane*{E} + e")
    if WAVES == 1
    else ag.Owner(t=LANES, p=CHUNKS, e=E, n=f"p*{LANES * E} + t*{E} + e")
)
LENGTH = f"N == {SPAN}" if EXACT else f"N >= 1 and N <= {SPAN} and N % {WIDTH // SIZE} == 0"
PARTS = ag.Layout(w=(WAVES, 4))
EACH = ag.Owner(t=LANES, i=WAVES, w="i")
ONE = ag.Owner(t=LANES * ROWS, z="t*0")


def largest(x):
    """The maximum over registers and lanes: one number for a wave."""
    return x.max("n") if WAVES == 1 else x.max("n", within="wave")


def largest_of_waves(part):
    """The maximum of what the waves of a row have, through LDS."""
    if WAVES == 1:
        return part
    parts = ag.shared(PARTS, f32)
    parts.store(part, w=ag.wave(), width=4, guard=ag.lane() == 0)
    ag.barrier()
    return parts.load(EACH, width=4).max("w")


def smallest(x):
    """The minimum over registers and lanes: one number for a wave."""
    return x.min("n") if WAVES == 1 else x.min("n", within="wave")


def smallest_of_waves(part):
    """The minimum of what the waves of a row have, through LDS."""
    if WAVES == 1:
        return part
    parts = ag.shared(PARTS, f32)
    parts.store(part, w=ag.wave(), width=4, guard=ag.lane() == 0)
    ag.barrier()
    return parts.load(EACH, width=4).min("w")


def added(x):
    """The sum over registers and lanes: one number for a wave."""
    return x.sum("n") if WAVES == 1 else x.sum("n", within="wave")


def of_waves(part):
    """The sum of what the waves of a row have added, through LDS."""
    if WAVES == 1:
        return part
    parts = ag.shared(PARTS, f32)
    parts.store(part, w=ag.wave(), width=4, guard=ag.lane() == 0)
    ag.barrier()
    return parts.load(EACH, width=4).sum("w")
