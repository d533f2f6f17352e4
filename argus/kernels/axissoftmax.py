"""Softmax over the middle axis of X[A, K, C]: channels of an image, with C = H * W. f32, bf16 or f16.

    softmax_axis       Y[a, k, c] = exp(X[a, k, c] - max) / sum
    logsumexp_axis     L[a, c] = max + log(sum(exp(X[a, :, c] - max)))

max and sum are over the K elements of a column. A workgroup takes 256 neighbouring columns of one a and holds them in
registers: they are read once. Its four waves share K, up to 4 * DEPTH; their maxima and sums meet in LDS. Rows past K
are loaded as zeros, made -inf, and not stored.
"""

import argus as ag
from argus import LOG2E, bf16, f16, f32, inf

DTYPE = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of X and Y")
DEPTH = ag.knob(4, legal=(1, 2, 4, 8, 16, 32), why="rows that a wave holds")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access; rows of C must be multiples of it")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
HELD = 4 * DEPTH
BYTES = min(WIDTH, 4 * SIZE)
TILE = ag.Owner(t=256, u=DEPTH, e=4, k=f"t//64*{DEPTH} + u", c="t%64*4 + e")
PARTS = ag.Layout(w=(4, 1024), c=(256, 4))
EACH = ag.Owner(t=256, i=4, e=4, w="i", c="t%64*4 + e")
ONE = ag.Owner(t=256, i=4, w="i", c="t")  # a column to a thread

NEEDS = f"A >= 1 and K >= 1 and C >= 1 and C % {max(1, WIDTH // SIZE)} == 0 and K <= {HELD}"
TOP = "max(X[a, j, c], j)"
SUM = f"sum(exp(X[a, i, c] - {TOP}), i)"
EXAMPLE = dict(A=3, K=min(HELD, 13), C=500)


def of_waves(values):
    """What the waves have of every column, in LDS."""
    parts = ag.shared(PARTS, f32)
    parts.store(values, w=ag.wave(), width=16)
    ag.barrier()
    return parts


def columns(X, a, at, K):
    """The columns of a workgroup, -inf past K."""
    x = X[a, 0, at].load(TILE, width=BYTES, guard="shape").to(f32)
    return ag.where(x.k < K, x, -inf)


def exponentials(x, tops):
    """exp(x - max)."""
    return ag.exp2((x - tops.load(EACH, width=16).max("w")) * LOG2E)


@ag.kernel(threads=256, requires=NEEDS, computes=f"Y[a, k, c] = exp(X[a, k, c] - {TOP}) / {SUM}", example=EXAMPLE)
def softmax_axis(X: ag.In["A K C", T], Y: ag.Out["A K C", T]):
    a, bc = ag.grid(A, ag.cdiv(C, 256))
    at = bc * 256
    x = columns(X, a, at, K)
    e = exponentials(x, of_waves(x.max("k", within="wave")))
    sums = of_waves(e.sum("k", within="wave"))
    Y[a, 0, at].store((e * ag.rcp(sums.load(EACH, width=16).sum("w"))).to(T), width=BYTES, guard="shape")


@ag.kernel(threads=256, requires=NEEDS, computes=f"L[a, c] = {TOP} + log({SUM})", example=EXAMPLE)
def logsumexp_axis(X: ag.In["A K C", T], L: ag.Out["A C", f32]):
    a, bc = ag.grid(A, ag.cdiv(C, 256))
    at = bc * 256
    x = columns(X, a, at, K)
    tops = of_waves(x.max("k", within="wave"))
    sums = of_waves(exponentials(x, tops).sum("k", within="wave"))
    top, total = tops.load(ONE, width=4).max("w"), sums.load(ONE, width=4).sum("w")
    L[a, at].store(top + ag.log(total), width=4, guard="shape")
