"""Reduction over the middle axis of X[A, K, C]: sum, mean, maximum or minimum. Columns are A = 1.

    Y[a, c] = sum(X[a, k, c], k)

A workgroup takes 256 neighbouring columns of one a; its WAVES waves share K. A lane holds 4 columns and DEPTH rows per
step, so that accesses are whole lines; the waves' parts meet in LDS once, after the loop. f32, bf16 or f16 in, f32 out.
"""

import argus as ag
from argus import bf16, f16, f32, inf

DTYPE = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of X")
OP = ag.knob("sum", legal=("sum", "mean", "max", "min"), why="what is taken over K")
WAVES = ag.knob(4, legal=(2, 4), why="waves that share K")
DEPTH = ag.knob(4, legal=(1, 2, 4, 8), why="rows of a wave per step, in flight together")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access; rows of C must be multiples of it")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
STEP = WAVES * DEPTH
TILE = ag.Owner(t=64 * WAVES, u=DEPTH, e=4, k=f"t//64*{DEPTH} + u", c="t%64*4 + e")
COLUMNS = ag.Owner(t=64 * WAVES, e=4, c="t%64*4 + e")
PARTS = ag.Layout(w=(WAVES, 1024), c=(256, 4))
SHARE = 4 // WAVES  # columns a thread adds up and stores
EACH = ag.Owner(t=64 * WAVES, i=WAVES, e=SHARE, w="i", c=f"t*{SHARE} + e")

START = {"sum": 0.0, "mean": 0.0, "max": -inf, "min": inf}[OP]
MEANS = {
    "sum": "Y[a, c] = sum(X[a, k, c], k)",
    "mean": "Y[a, c] = sum(X[a, k, c], k) / K",
    "max": "Y[a, c] = max(X[a, k, c], k)",
    "min": "Y[a, c] = min(X[a, k, c], k)",
}[OP]


def joined(x, y):
    return {"max": lambda: ag.max(x, y), "min": lambda: ag.min(x, y), "sum": lambda: x + y, "mean": lambda: x + y}[OP]()


def over(x, axis):
    """The reduction over an axis that one thread, or one wave, holds."""
    if OP == "max":
        return x.max(axis, within="wave")
    if OP == "min":
        return x.min(axis, within="wave")
    return x.sum(axis, within="wave")


@ag.kernel(
    threads=64 * WAVES,
    requires=f"A >= 1 and K >= 1 and C >= 1 and C % {max(1, WIDTH // SIZE)} == 0",
    computes=MEANS,
    example=dict(A=3, K=37, C=500),
)
def reduce_axis(X: ag.In["A K C", T], Y: ag.Out["A C", f32]):
    a, bc = ag.grid(A, ag.cdiv(C, 256))
    at = bc * 256
    kept = ag.full(COLUMNS, f32, START)
    for i in ag.range(ag.cdiv(K, STEP)):
        x = X[a, i * STEP, at].load(TILE, width=min(WIDTH, 4 * SIZE), guard="shape").to(f32)
        x = x if START == 0.0 else ag.where(i * STEP + x.k < K, x, START)
        kept = joined(kept, over(x, "k"))
    parts = ag.shared(PARTS, f32)
    parts.store(kept, w=ag.wave(), width=16)
    ag.barrier()
    total = over(parts.load(EACH, width=4 * SHARE), "w")
    total = total / f32(K) if OP == "mean" else total
    Y[a, at].store(total, width=4, guard="shape")
