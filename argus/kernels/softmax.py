"""Softmax of rows: Y[m, n] = exp(X[m, n] - max) / sum. f32, bf16 or f16, any row length, f32 arithmetic.

`softmax` holds a row in registers: it is read once and written once, which is all the memory traffic there is. A row
belongs to WAVES waves (with one, four rows to a workgroup); a thread holds CHUNKS times 16 bytes of it. `softmax_long`
walks rows that do not fit: one pass for the maximum and the sum, which is rescaled as the maximum grows, and one for
the result; that the first takes every element is not proved.

Elements past the end of a row are loaded as zeros, made -inf for the maximum, and not stored.
"""

import argus as ag
from argus import LOG2E, bf16, f16, f32, inf

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
LOWEST = -3.4028234663852886e38

# The lanes of a row hold 16 neighbouring bytes each, p times.
ROW = (
    ag.Owner(lane=64, p=CHUNKS, e=E, n=f"p*{64 * E} + lane*{E} + e")
    if WAVES == 1
    else ag.Owner(t=LANES, p=CHUNKS, e=E, n=f"p*{LANES * E} + t*{E} + e")
)
LENGTH = f"N == {SPAN}" if EXACT else f"N >= 1 and N <= {SPAN} and N % {WIDTH // SIZE} == 0"
PARTS = ag.Layout(w=(WAVES, 4))
EACH = ag.Owner(t=LANES, i=WAVES, w="i")


def largest(x):
    """The maximum over the row: of registers, of lanes, and through LDS of waves."""
    if WAVES == 1:
        return x.max("n")
    parts = ag.shared(PARTS, f32)
    parts.store(x.max("n", within="wave"), w=ag.wave(), width=4, guard=ag.lane() == 0)
    ag.barrier()
    return parts.load(EACH, width=4).max("w")


def total(x):
    """The sum over the row, likewise."""
    if WAVES == 1:
        return x.sum("n")
    parts = ag.shared(PARTS, f32)
    parts.store(x.sum("n", within="wave"), w=ag.wave(), width=4, guard=ag.lane() == 0)
    ag.barrier()
    return parts.load(EACH, width=4).sum("w")


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and {LENGTH}",
    computes="Y[m, n] = exp(X[m, n] - max(X[m, j], j)) / sum(exp(X[m, i] - max(X[m, j], j)), i)",
    example=dict(M=6, N=SPAN if EXACT else 200),
)
def softmax(X: ag.In["M N", T], Y: ag.Out["M N", T]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    inside = row < M if EXACT else "shape"
    x = X[row].load(ROW, width=WIDTH, guard=inside).to(f32)
    x = x if EXACT else ag.where(x.n < N, x, -inf)
    e = ag.exp2((x - largest(x)) * LOG2E)
    Y[row].store((e * ag.rcp(total(e))).to(T), width=WIDTH, guard=inside)


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and N >= 1 and N % {WIDTH // SIZE} == 0",
    example=dict(M=6, N=3000),
)
def softmax_long(X: ag.In["M N", T], Y: ag.Out["M N", T]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    top = ag.full(ROW, f32, LOWEST)  # finite: the rescaling of nothing is 1, not a NaN
    sums = ag.zeros(ROW, f32)
    for i in ag.range(ag.cdiv(N, SPAN)):  # every element has its own running maximum and sum
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        x = ag.where(i * SPAN + x.n < N, x, -inf)
        above = ag.max(top, x)
        sums = sums * ag.exp2((top - above) * LOG2E) + ag.exp2((x - above) * LOG2E)
        top = above
    high = largest(top)
    scale = ag.rcp(total(sums * ag.exp2((top - high) * LOG2E)))
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        Y[row, i * SPAN].store((ag.exp2((x - high) * LOG2E) * scale).to(T), width=WIDTH, guard="shape")
    ag.check.covers(Y)
