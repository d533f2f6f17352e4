"""The end of one-dimensional tensors of narrow elements: wide accesses straddle the last dword."""

import argus as ag
from argus import bf16, f16, f32, i8, i32, u8

CASE = ag.knob(0, legal=tuple(range(24)), why="which variant")
KIND = [
    bf16,
    bf16,
    bf16,
    f16,
    i8,
    i8,
    i8,
    u8,
    bf16,
    i8,
    bf16,
    bf16,
    i8,
    bf16,
    bf16,
    bf16,
    i8,
    f16,
    bf16,
    f32,
    bf16,
    i8,
    bf16,
    i8,
][CASE]
WIDTH = [16, 8, 4, 16, 16, 8, 4, 16, 2, 1, 16, 16, 16, 16, 16, 16, 16, 8, 16, 16, 16, 16, 12, 12][CASE]
OTHER = [16, 8, 4, 16, 16, 8, 4, 16, 2, 1, 2, 16, 1, 16, 16, 16, 16, 4, 4, 4, 16, 16, 12, 12][CASE]
BYTES = KIND.bytes
EACH = 24 if CASE in (22, 23) else 16
PART = ag.Owner(t=64, e=EACH, i=f"t*{EACH} + e")
TILE = 64 * EACH
LDS = ag.Layout(i=(TILE, BYTES))
EVEN = "N % 4 == 0" if CASE == 20 else "N >= 1"
EXAMPLE = 256 if CASE == 20 else 255


@ag.kernel(threads=64, requires=EVEN, computes="y[i] = x[i]", example=dict(N=EXAMPLE))
def tails(x: ag.In["N", KIND], y: ag.Out["N", KIND]):
    b = ag.grid(ag.cdiv(N, TILE))
    if CASE == 13:
        v = x[TILE * b].load(PART, width=WIDTH, guard=lambda i: TILE * b + i < N)
        y[TILE * b].store(v, width=OTHER, guard=lambda i: TILE * b + i < N)
    elif CASE == 14:
        lds = ag.shared(LDS, KIND)
        lds.store(x[TILE * b].load(PART, width=WIDTH), width=16)
        ag.barrier()
        y[TILE * b].store(lds.load(PART, width=16), width=OTHER)
    elif CASE == 15:
        v = x[TILE * b].load(PART, width=WIDTH).to(f32)
        y[TILE * b].store(v.to(bf16), width=OTHER)
    elif CASE == 16:
        v = x[TILE * b].load(PART, width=WIDTH).to(i32)
        y[TILE * b].store(v.to(i8), width=OTHER)
    elif CASE == 21:
        for k in ag.range(1):
            y[TILE * b + TILE * k].store(x[TILE * b + TILE * k].load(PART, width=WIDTH), width=OTHER)
    else:
        y[TILE * b].store(x[TILE * b].load(PART, width=WIDTH), width=OTHER)
