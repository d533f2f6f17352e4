"""A transposition through LDS."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(9)), why="which variant")

TILE = 32
PADDED = ag.Layout(r=(TILE, 4 * TILE + 4), c=(TILE, 4))
SWIZZLED = ag.Layout(r=(TILE, 4 * TILE), c=(TILE, 4)).xor(c="r[0:5]")
LAYOUT = SWIZZLED if CASE == 1 else PADDED
ROWS = ag.Owner(t=256, p=4, r="p*8 + t//32", c="t%32")
COLUMNS = ag.Owner(t=256, p=4, c="p*8 + t//32", r="t%32")
UPSIDE = ag.Owner(t=256, p=4, c="p*8 + t//32", r="31 - t%32")


@ag.kernel(threads=256, requires="M % 32 == 0 and N % 32 == 0", computes="Y[n, m] = X[m, n]", example=dict(M=64, N=96))
def transpose(X: ag.In["M N", f32], Y: ag.Out["N M", f32]):
    bm, bn = ag.grid(M // TILE, N // TILE)
    tile = ag.shared(LAYOUT, f32)
    if CASE == 8:
        if ag.wave() < 3:
            tile.store(X[bm * TILE, bn * TILE].load(ROWS, width=4), width=4)
    else:
        tile.store(X[bm * TILE, bn * TILE].load(ROWS, width=4), width=4)
    if CASE == 7:
        if ag.wave() == 0:
            ag.barrier()
    elif CASE != 2:
        ag.barrier()
    if CASE == 3:
        Y[bm * TILE, bn * TILE].store(tile.load(COLUMNS, width=4), width=4)
    elif CASE == 4:
        back = tile.load(COLUMNS, width=4)
        Y[bn * TILE, bm * TILE].store(back.held_as(UPSIDE), width=4)
    elif CASE == 5:
        back = tile.load(UPSIDE, width=4)
        Y[bn * TILE, bm * TILE].store(back, width=4)
    elif CASE == 6:
        back = tile.load(UPSIDE, width=4)
        Y[bn * TILE, bm * TILE].store(back.held_as(COLUMNS), width=4)
    else:
        Y[bn * TILE, bm * TILE].store(tile.load(COLUMNS, width=4), width=4)
