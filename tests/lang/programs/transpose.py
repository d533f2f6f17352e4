"""Y = X transposed, through an LDS tile whose rows are padded by one element so that columns spread over the banks."""

import argus as ag
from argus import f32

TILE = 32
PADDED = ag.Layout(r=(TILE, 4 * TILE + 4), c=(TILE, 4))
ROWS = ag.Owner(t=256, p=4, r="p*8 + t//32", c="t%32")
COLUMNS = ag.Owner(t=256, p=4, c="p*8 + t//32", r="t%32")


@ag.kernel(threads=256, requires="M % 32 == 0 and N % 32 == 0", computes="Y[n, m] = X[m, n]", example=dict(M=64, N=96))
def transpose(X: ag.In["M N", f32], Y: ag.Out["N M", f32]):
    bm, bn = ag.grid(M // TILE, N // TILE)
    tile = ag.shared(PADDED, f32)
    tile.store(X[bm * TILE, bn * TILE].load(ROWS, width=4), width=4)
    ag.barrier()
    Y[bn * TILE, bm * TILE].store(tile.load(COLUMNS, width=4), width=4)
    ag.check.race_free(tile)
