"""Softmax of rows: Y[m, n] = exp(X[m, n] - max) / sum. f32, bf16 or f16, any row length, f32 arithmetic.

`softmax` holds a row in registers: it is read once and written once, which is all the memory traffic there is. A row
belongs to WAVES waves (with one, four rows to a workgroup); a thread holds CHUNKS times 16 bytes of it. `softmax_long`
walks rows that do not fit, three times: for the maximum, the sum, and the result.

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
    e = ag.exp2((x - largest_of_waves(largest(x))) * LOG2E)
    Y[row].store((e * ag.rcp(of_waves(added(e)))).to(T), width=WIDTH, guard=inside)


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and N >= 1 and N % {WIDTH // SIZE} == 0",
    computes="Y[m, n] = exp(X[m, n] - max(X[m, j], j)) / sum(exp(X[m, i] - max(X[m, j], j)), i)",
    example=dict(M=6, N=3000),
)
def softmax_long(X: ag.In["M N", T], Y: ag.Out["M N", T]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    top, sums = ag.full(ONE, f32, -inf).without(), ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        top = ag.max(top, largest(ag.where(i * SPAN + x.n < N, x, -inf)))
    high = largest_of_waves(top)
    for i in ag.range(ag.cdiv(N, SPAN)):
        u = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        sums = sums + added(ag.exp2((ag.where(i * SPAN + u.n < N, u, -inf) - high) * LOG2E))
    scale = ag.rcp(of_waves(sums))
    for i in ag.range(ag.cdiv(N, SPAN)):
        v = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        e = ag.exp2((ag.where(i * SPAN + v.n < N, v, -inf) - high) * LOG2E)
        Y[row, i * SPAN].store((e * scale).to(T), width=WIDTH, guard="shape")
