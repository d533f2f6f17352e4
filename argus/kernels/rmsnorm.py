"""RMS normalisation of rows: Y[m, n] = X[m, n] * rsqrt(mean(X[m]^2) + eps) * W[n]. f32, bf16 or f16, f32 arithmetic.

`rmsnorm` holds a row in registers: it is read once and written once. A row belongs to WAVES waves (with one, four rows
to a workgroup); a thread holds CHUNKS times 16 bytes of it. `rmsnorm_long` walks rows that do not fit, twice.
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
    computes="Y[m, n] = X[m, n] * rsqrt(sum(X[m, k] * X[m, k], k) / N + eps) * W[n]",
    example=dict(M=6, N=SPAN if EXACT else 200),
)
def rmsnorm(X: ag.In["M N", T], W: ag.In["N", T], Y: ag.Out["M N", T], eps: f32):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    inside = row < M if EXACT else "shape"
    known = True if EXACT else "shape"
    w = W.load(ROW, width=WIDTH, guard=known)
    x = X[row].load(ROW, width=WIDTH, guard=inside).to(f32)
    scale = ag.rsqrt(of_waves(added(x * x)) / f32(N) + eps)
    Y[row].store((x * scale * w.to(f32)).to(T), width=WIDTH, guard=inside)


@ag.kernel(
    threads=LANES * ROWS,
    requires=f"M >= 1 and N >= 1 and N % {WIDTH // SIZE} == 0",
    computes="Y[m, n] = X[m, n] * rsqrt(sum(X[m, k] * X[m, k], k) / N + eps) * W[n]",
    example=dict(M=6, N=3000),
)
def rmsnorm_long(X: ag.In["M N", T], W: ag.In["N", T], Y: ag.Out["M N", T], eps: f32):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    squares = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        squares = squares + added(x * x)
    scale = ag.rsqrt(of_waves(squares) / f32(N) + eps)
    for i in ag.range(ag.cdiv(N, SPAN)):
        w = W[i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        Y[row, i * SPAN].store((x * scale * w).to(T), width=WIDTH, guard="shape")
