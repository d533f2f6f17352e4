"""Accesses that begin before a tensor: elements there read as zero and are not written. Runs of cases 14 to 16 begin
before 0 and end behind it."""

import argus as ag
from argus import bf16, f16, f32, i8, u8

CASE = ag.knob(0, legal=tuple(range(22)), why="which variant")
KINDS = [f32, f32, bf16, bf16, i8, i8, f16, u8, f32, f32, f32, f32, f32, f32, bf16, i8]
KIND = KINDS[CASE] if CASE < 16 else f32
WIDTH = [4, 16, 2, 8, 1, 4, 4, 2, 8, 4, 4, 4, 4, 4, 16, 16, 16, 4, 4, 4, 4, 4][CASE]
EACH = 16
PART = ag.Owner(t=64, e=EACH, i=f"t*{EACH} + e")
TILE = 64 * EACH
LDS = ag.Layout(i=(TILE, KIND.bytes))
SHIFT = 3 if CASE == 11 else 5 if CASE == 12 else 2 if CASE == 16 else 4
MORE = 1 if CASE in (8, 9) else 0


@ag.kernel(threads=64, requires="N >= 1", computes="y[i] = x[i - 4]", example=dict(N=255))
def before(x: ag.In["N", KIND], y: ag.Out["N", KIND]):
    b = ag.grid(ag.cdiv(N, TILE) + MORE)
    if CASE == 8:
        y[TILE * b - TILE].store(x[TILE * b - TILE - 4].load(PART, width=WIDTH), width=WIDTH)
    elif CASE == 9:
        lds = ag.shared(LDS, KIND)
        lds.store(x[TILE * b - TILE - 4].load(PART, width=WIDTH), width=16)
        ag.barrier()
        y[TILE * b - TILE].store(lds.load(PART, width=16), width=WIDTH)
    elif CASE == 10:
        for k in ag.range(1):
            y[TILE * b + TILE * k].store(x[TILE * b + TILE * k - 4].load(PART, width=WIDTH), width=WIDTH)
    elif CASE == 13:
        y[TILE * b].store(x[ag.max(TILE * b - 4, 0)].load(PART, width=WIDTH), width=WIDTH)
    elif CASE == 17:
        y[TILE * b].store(x[TILE * b - 4].load(PART, width=WIDTH, guard=lambda i: TILE * b + i >= 8), width=WIDTH)
    elif CASE == 18:
        y[TILE * b].store(x[TILE * b - 4].load(PART, width=WIDTH, guard=lambda i: TILE * b + i >= 4), width=WIDTH)
    elif CASE == 19:
        y[TILE * b - 4].store(x[TILE * b - 4].load(PART, width=WIDTH), width=WIDTH)
    elif CASE == 20:
        y[TILE * b].store(x[TILE * b - 4 - N].load(PART, width=WIDTH), width=WIDTH)
    elif CASE == 21:
        y[TILE * b].store(x[(TILE * b - 4) % N].load(PART, width=WIDTH), width=WIDTH)
    else:
        y[TILE * b].store(x[TILE * b - SHIFT].load(PART, width=WIDTH), width=WIDTH)
