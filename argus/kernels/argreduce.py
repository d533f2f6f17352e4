"""The first place of the largest or smallest element: of rows, or over the middle axis of X[A, K, C].

    argrow     Y[m] = argmax(X[m, n], n)                rows of at most SPAN elements, held in registers
    argrow_long                                         rows of any length, walked
    argaxis    Y[a, c] = argmax(X[a, k, c], k)          any K; a thread has a column of its own

First the extreme, then the smallest place at which an element equals it: on ties the first index wins, as in PyTorch.
`argrow_long` and `argaxis` walk X twice. Places are 64-bit integers as PyTorch's are, or 32-bit ones (PLACE). A NaN is
never equal to anything, so it is not found; PyTorch gives the first NaN. Proofs speak of finite inputs.
"""

import argus as ag
from argus import bf16, f16, f32, i32, i64, inf

DTYPE = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of X")
OP = ag.knob("max", legal=("max", "min"), why="whose place")
PLACE = ag.knob("i64", legal=("i32", "i64"), why="element type of Y")
CHUNKS = ag.knob(2, legal=(1, 2, 4, 8), why="argrow: 16-byte accesses of a thread per row")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="argrow: bytes per access; rows must be multiples of it")
DEPTH = ag.knob(8, legal=(1, 2, 4, 8), why="argaxis: elements of a column in flight together")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
I = {"i32": i32, "i64": i64}[PLACE]
SIZE = 4 if DTYPE == "f32" else 2
BYTES = 4 if PLACE == "i32" else 8
E = 16 // SIZE
SPAN = 64 * E * CHUNKS
ROW = ag.Owner(lane=64, p=CHUNKS, e=E, n=f"p*{64 * E} + lane*{E} + e")
TILE = ag.Owner(t=256, u=DEPTH, k="u", c="t")
ONE = ag.Owner(t=256, z="t*0")
COLUMNS = ag.Owner(t=256, c="t")
START = {"max": -inf, "min": inf}[OP]
LAST = 2**31 - 1  # beyond every place


def extreme(x, axis):
    return x.max(axis) if OP == "max" else x.min(axis)


def joined(x, y):
    return ag.max(x, y) if OP == "max" else ag.min(x, y)


@ag.kernel(
    threads=256,
    requires=f"M >= 1 and N >= 1 and N <= {SPAN} and N % {max(1, WIDTH // SIZE)} == 0",
    computes=f"Y[m] = arg{OP}(X[m, n], n)",
    example=dict(M=6, N=200),
)
def argrow(X: ag.In["M N", T], Y: ag.Out["M", I]):
    row = 4 * ag.grid(ag.cdiv(M, 4)) + ag.wave()
    x = X[row].load(ROW, width=WIDTH, guard="shape").to(f32)
    x = ag.where(x.n < N, x, START)
    first = ag.where(x == extreme(x, "n"), x.n, LAST).min("n")
    Y[row].store(first.to(I), width=BYTES, guard=(ag.lane() == 0) & (row < M))


@ag.kernel(
    threads=256,
    requires=f"M >= 1 and N >= 1 and N % {max(1, WIDTH // SIZE)} == 0",
    computes=f"Y[m] = arg{OP}(X[m, n], n)",
    example=dict(M=6, N=3000),
)
def argrow_long(X: ag.In["M N", T], Y: ag.Out["M", I]):
    row = 4 * ag.grid(ag.cdiv(M, 4)) + ag.wave()
    top = ag.full(ONE, f32, START).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        top = joined(top, extreme(ag.where(i * SPAN + x.n < N, x, START), "n"))
    first = ag.full(ONE, i32, LAST).without()
    for j in ag.range(ag.cdiv(N, SPAN)):
        u = X[row, j * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        u = ag.where(j * SPAN + u.n < N, u, START)
        first = ag.min(first, ag.where(u == top, j * SPAN + u.n, LAST).min("n"))
    Y[row].store(first.to(I), width=BYTES, guard=(ag.lane() == 0) & (row < M))


@ag.kernel(
    threads=256,
    requires=f"A >= 1 and K >= 1 and C >= 1 and K % {DEPTH} == 0",
    computes=f"Y[a, c] = arg{OP}(X[a, k, c], k)",
    example=dict(A=2, K=40, C=300),
)
def argaxis(X: ag.In["A K C", T], Y: ag.Out["A C", I]):
    a, bc = ag.grid(A, ag.cdiv(C, 256))
    top = ag.full(COLUMNS, f32, START)
    for i in ag.range(K // DEPTH):
        x = X[a, i * DEPTH, bc * 256].load(TILE, width=SIZE, guard="shape").to(f32)
        top = joined(top, extreme(x, "k"))
    first = ag.full(COLUMNS, i32, LAST)
    for j in ag.range(K // DEPTH):
        u = X[a, j * DEPTH, bc * 256].load(TILE, width=SIZE, guard="shape").to(f32)
        first = ag.min(first, ag.where(u == top, j * DEPTH + u.k, LAST).min("k"))
    Y[a, bc * 256].store(first.to(I), width=BYTES, guard="shape")
