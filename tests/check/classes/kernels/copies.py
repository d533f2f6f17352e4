"""Direct copies of 1 and 2 bytes a lane: each lane writes four bytes of LDS."""

import argus as ag
from argus import bf16, f16, i8, u8

CASE = ag.knob(0, legal=tuple(range(16)), why="which variant")
KIND = [bf16, bf16, bf16, i8, i8, i8, bf16, f16, u8, bf16, bf16, i8, bf16, i8, bf16, bf16][CASE]
BYTES = KIND.bytes
IN = ag.Owner(t=64, c="t")
OUT = ag.Owner(t=64, c="t")
SPARSE = ag.Layout(h=(4 // BYTES, BYTES), c=(65, 4))
PLAIN = ag.Layout(h=(2, 64 * 4), c=(64, 4))


@ag.kernel(threads=64, computes="Y[h, c] = X[h, c]")
def copies(X: ag.In["h=2 c=64", KIND], Y: ag.Out["h=2 c=64", KIND]):
    ag.grid(1)
    width = BYTES
    if CASE in (0, 3, 7, 8):  # neighbours: the second copy lands between the first
        tile = ag.shared(SPARSE, KIND)
        X[0].copy(tile, IN, h=0, width=width)
        X[1].copy(tile, IN, h=1, width=width)
        ag.wait(vm=0)
        ag.barrier()
        Y[0].store(tile.load(OUT, h=0, width=width), width=width)
        Y[1].store(tile.load(OUT, h=1, width=width), width=width)
    elif CASE in (1, 4):  # the first row copied last
        tile = ag.shared(SPARSE, KIND)
        X[1].copy(tile, IN, h=1, width=width)
        X[0].copy(tile, IN, h=0, width=width)
        ag.wait(vm=0)
        ag.barrier()
        Y[0].store(tile.load(OUT, h=0, width=width), width=width)
        Y[1].store(tile.load(OUT, h=1, width=width), width=width)
    elif CASE in (2, 5):  # a store between, then a copy over it
        tile = ag.shared(SPARSE, KIND)
        tile.store(X[1].load(IN, width=width), h=1, width=width)
        ag.barrier()
        X[0].copy(tile, IN, h=0, width=width)
        ag.wait(vm=0)
        ag.barrier()
        Y[0].store(tile.load(OUT, h=0, width=width), width=width)
        Y[1].store(tile.load(OUT, h=1, width=width), width=width)
    elif CASE in (6, 11):  # right: rows of their own
        tile = ag.shared(PLAIN, KIND)
        X[0].copy(tile, IN, h=0, width=width)
        X[1].copy(tile, IN, h=1, width=width)
        ag.wait(vm=0)
        ag.barrier()
        Y[0].store(tile.load(OUT, h=0, width=width), width=width)
        Y[1].store(tile.load(OUT, h=1, width=width), width=width)
    elif CASE in (9, 13):  # the copy first, then a store over the bytes it cleared
        tile = ag.shared(SPARSE, KIND)
        X[0].copy(tile, IN, h=0, width=width)
        ag.wait(vm=0)
        ag.barrier()
        tile.store(X[1].load(IN, width=width), h=1, width=width)
        ag.barrier()
        Y[0].store(tile.load(OUT, h=0, width=width), width=width)
        Y[1].store(tile.load(OUT, h=1, width=width), width=width)
    elif CASE == 10:  # right: the stored data was loaded after the copy, so waiting for it waits for the copy
        tile = ag.shared(SPARSE, KIND)
        X[0].copy(tile, IN, h=0, width=width)
        tile.store(X[1].load(IN, width=width), h=1, width=width)
        ag.wait(vm=0)
        ag.barrier()
        Y[0].store(tile.load(OUT, h=0, width=width), width=width)
        Y[1].store(tile.load(OUT, h=1, width=width), width=width)
    elif CASE == 12:  # the last lane's four bytes end where the next row begins
        tile = ag.shared(PLAIN, KIND)
        tile.store(X[1].load(IN, width=width), h=1, width=width)
        X[0].copy(tile, IN, h=0, width=width)
        ag.wait(vm=0)
        ag.barrier()
        Y[0].store(tile.load(OUT, h=0, width=width), width=width)
        Y[1].store(tile.load(OUT, h=1, width=width), width=width)
    elif CASE == 14:  # the last lane's four bytes leave the buffer by two
        tile = ag.shared(ag.Layout(h=(2, 2), c=(64, 4)), KIND)
        X[0].copy(tile, IN, h=1, width=width)
        ag.wait(vm=0)
        ag.barrier()
        Y[0].store(tile.load(OUT, h=1, width=width), width=width)
        Y[1].store(X[1].load(OUT, width=width), width=width)
    else:  # the copy after the loads of the bytes it clears
        tile = ag.shared(SPARSE, KIND)
        tile.store(X[1].load(IN, width=width), h=1, width=width)
        ag.barrier()
        got = tile.load(OUT, h=1, width=width)
        ag.barrier()
        X[0].copy(tile, IN, h=0, width=width)
        ag.wait(vm=0)
        ag.barrier()
        Y[0].store(tile.load(OUT, h=0, width=width), width=width)
        Y[1].store(got, width=width)
