"""Scans of rows: sums, products, maxima or minima of everything up to an element; exclusive, from the end, masked.

    scan          Y[m, n] = sum of X[m, k] over k <= n          cumsum; OP: sum, prod, max, min
    EXCLUSIVE     over k < n                                    what stands before the element; nothing is the neutral
    REVERSE       over k >= n                                   from the end of the row
    scan_masked   Y[m, n] = sum of X[m, k] * mask[m, k]         a mask of bytes, 0 or 1 as PyTorch's bool has them

A row belongs to one wave, four rows to a workgroup. The wave walks its row in pieces of SPAN elements: a piece is
scanned in registers and lanes (`x.cumsum`), and what all pieces before it have taken is carried from piece to piece. So
X is read once and Y written once. `scan_axis` scans the middle axis of X[A, K, C]: a thread has a column of its own.
From the end, zeros beyond K would be among what is taken there: then K is a multiple of DEPTH.
"""

import argus as ag
from argus import bf16, f16, f32, inf, u8

DTYPE = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of X and Y")
OP = ag.knob("sum", legal=("sum", "prod", "max", "min"), why="what is taken of the elements up to each")
EXCLUSIVE = ag.knob(False, legal=(False, True), why="an element is not among those taken for it")
REVERSE = ag.knob(False, legal=(False, True), why="from the end of the row")
CHUNKS = ag.knob(2, legal=(1, 2, 4), why="16-byte accesses of a thread per piece")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access; rows must be multiples of it")
DEPTH = ag.knob(8, legal=(1, 2, 4, 8), why="scan_axis: elements of a column in flight together")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
E = 16 // SIZE
SPAN = 64 * E * CHUNKS
ROW = ag.Owner(lane=64, p=CHUNKS, e=E, n=f"p*{64 * E} + lane*{E} + e")
ONE = ag.Owner(t=256, z="t*0")
COLUMNS = ag.Owner(t=256, c="t")
TILE = ag.Owner(t=256, u=DEPTH, k="u", c="t")

START = {"sum": 0.0, "prod": 1.0, "max": -inf, "min": inf}[OP]
NEUTRAL = {"sum": "0", "prod": "1", "max": "-inf", "min": "inf"}[OP]
UP_TO = (">" if REVERSE else "<") + ("" if EXCLUSIVE else "=")
NEEDS = f"N >= 1 and N % {max(1, WIDTH // SIZE)} == 0"


def scanned(x, axis):
    """The scan of what one wave, or one thread, holds."""
    if OP == "max":
        return x.cummax(axis, exclusive=EXCLUSIVE, reverse=REVERSE)
    if OP == "min":
        return x.cummin(axis, exclusive=EXCLUSIVE, reverse=REVERSE)
    if OP == "prod":
        return x.cumprod(axis, exclusive=EXCLUSIVE, reverse=REVERSE)
    return x.cumsum(axis, exclusive=EXCLUSIVE, reverse=REVERSE)


def joined(x, y):
    joins = {"sum": lambda: x + y, "prod": lambda: x * y, "max": lambda: ag.max(x, y), "min": lambda: ag.min(x, y)}
    return joins[OP]()


def outermost(x, axis):
    """The element that a scan comes to last."""
    return x.first(axis) if REVERSE else x.last(axis)


def taken(y, x, axis):
    """All of a piece: what its last element has taken, with itself."""
    return joined(outermost(y, axis), outermost(x, axis)) if EXCLUSIVE else outermost(y, axis)


def inside(x, place, extent):
    """The piece with nothing beyond the end, where that comes first."""
    return ag.where(place < extent, x, START) if REVERSE and OP != "sum" else x


def piece(i, extent, span):
    """Where piece i begins, counted from the end where the scan does."""
    return (ag.cdiv(extent, span) - 1 - i) * span if REVERSE else i * span


@ag.kernel(
    threads=256,
    requires=f"M >= 1 and {NEEDS}",
    computes=f"Y[m, n] = {OP}(where(k {UP_TO} n, X[m, k], {NEUTRAL}), k)",
    example=dict(M=6, N=1200),
)
def scan(X: ag.In["M N", T], Y: ag.Out["M N", T]):
    row = 4 * ag.grid(ag.cdiv(M, 4)) + ag.wave()
    before = ag.full(ONE, f32, START).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        at = piece(i, N, SPAN)
        x = X[row, at].load(ROW, width=WIDTH, guard="shape").to(f32)
        x = inside(x, at + x.n, N)
        y = scanned(x, "n")
        Y[row, at].store(joined(before, y).to(T), width=WIDTH, guard="shape")
        before = joined(before, taken(y, x, "n"))


@ag.kernel(
    threads=256,
    requires=f"M >= 1 and {NEEDS}",
    computes=f"Y[m, n] = sum(where(k {UP_TO} n, X[m, k] * mask[m, k], 0), k)",
    example=dict(M=6, N=1200),
)
def scan_masked(X: ag.In["M N", T], mask: ag.In["M N", u8], Y: ag.Out["M N", T]):
    row = 4 * ag.grid(ag.cdiv(M, 4)) + ag.wave()
    before = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        at = piece(i, N, SPAN)
        x = X[row, at].load(ROW, width=WIDTH, guard="shape").to(f32)
        x = x * mask[row, at].load(ROW, width=WIDTH // SIZE, guard="shape").to(f32)
        y = x.cumsum("n", exclusive=EXCLUSIVE, reverse=REVERSE)
        Y[row, at].store((before + y).to(T), width=WIDTH, guard="shape")
        before = before + (outermost(y, "n") + outermost(x, "n") if EXCLUSIVE else outermost(y, "n"))


@ag.kernel(
    threads=256,
    requires=f"A >= 1 and K >= 1 and C >= 1 and K % {DEPTH if REVERSE and OP != 'sum' else 1} == 0",
    computes=f"Y[a, n, c] = {OP}(where(k {UP_TO} n, X[a, k, c], {NEUTRAL}), k)",
    example=dict(A=2, K=40, C=300),
)
def scan_axis(X: ag.In["A K C", T], Y: ag.Out["A K C", T]):
    a, bc = ag.grid(A, ag.cdiv(C, 256))
    before = ag.full(COLUMNS, f32, START)
    for i in ag.range(ag.cdiv(K, DEPTH)):
        at = piece(i, K, DEPTH)
        x = X[a, at, bc * 256].load(TILE, width=SIZE, guard="shape").to(f32)
        y = scanned(x, "k")
        Y[a, at, bc * 256].store(joined(before, y).to(T), width=SIZE, guard="shape")
        before = joined(before, taken(y, x, "k"))
