"""Reduction of rows: Y[m] = sum, mean or maximum of X[m, :]. f32, bf16 or f16 in, f32 out, any row length.

A row belongs to WAVES waves (with one, four rows to a workgroup). `rowreduce` holds it in registers. `rowreduce_long`
walks longer rows: a wave reduces each chunk to one number and keeps that; waves meet once, after the loop.
"""

import argus as ag
from argus import bf16, f16, f32, inf

DTYPE = ag.knob("bf16", legal=("f32", "bf16", "f16"), why="element type of X and Y")
WAVES = ag.knob(1, legal=(1, 2, 4, 8, 16), why="waves that share a row")
CHUNKS = ag.knob(2, legal=(1, 2, 3, 4, 6, 8), why="16-byte accesses of a thread per row")
EXACT = ag.knob(False, legal=(False, True), why="rows fill the registers exactly: nothing to mask")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access; rows must be multiples of it")
OP = ag.knob("sum", legal=("sum", "mean", "max"), why="what is taken of a row")

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


MEANS = {"sum": "Y[m] = sum(X[m, n], n)", "mean": "Y[m] = sum(X[m, n], n) / N", "max": "Y[m] = max(X[m, n], n)"}[OP]
NEEDS = f"M >= 1 and N >= 1 and N % {WIDTH // SIZE} == 0"


def finished(part, N):
    """What is asked for, of what each wave has of a row."""
    return largest_of_waves(part) if OP == "max" else of_waves(part) / f32(N) if OP == "mean" else of_waves(part)


@ag.kernel(
    threads=LANES * ROWS, requires=f"M >= 1 and {LENGTH}", computes=MEANS, example=dict(M=6, N=SPAN if EXACT else 200)
)
def rowreduce(X: ag.In["M N", T], Y: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    inside = row < M if EXACT else "shape"
    x = X[row].load(ROW, width=WIDTH, guard=inside).to(f32)
    kept = ag.where(x.n < N, x, -inf) if OP == "max" and not EXACT else x
    part = largest(kept) if OP == "max" else added(kept)
    Y[row].store(finished(part, N), width=4, guard=ag.lane() == 0 if WAVES == 1 else ag.thread() == 0)


@ag.kernel(threads=LANES * ROWS, requires=NEEDS, computes=MEANS, example=dict(M=6, N=3000))
def rowreduce_long(X: ag.In["M N", T], Y: ag.Out["M", f32]):
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)
    kept = (ag.full(ONE, f32, -inf) if OP == "max" else ag.zeros(ONE, f32)).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)
        kept = ag.max(kept, largest(ag.where(i * SPAN + x.n < N, x, -inf))) if OP == "max" else kept + added(x)
    Y[row].store(finished(kept, N), width=4, guard=ag.lane() == 0 if WAVES == 1 else ag.thread() == 0)
