"""Barriers that only some workgroups, sizes or turns of a loop reach."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(16)), why="which variant")

PART = ag.Owner(t=256, e=1, i="t + e")
BACK = ag.Owner(t=256, e=1, i="255 - t + e")
TILE = ag.Layout(i=(256, 4))


@ag.kernel(threads=256, requires="N % 256 == 0 and N >= 256", computes="z[i] = x[i]", example=dict(N=1024))
def barriers(x: ag.In["N", f32], z: ag.Out["N", f32], last: ag.Out["n=256", f32]):
    tile = ag.shared(TILE, f32)
    n = N // 256
    if CASE < 4:
        block = ag.grid(n)
        tile.store(x[256 * block].load(PART, width=4), width=4)
        if CASE == 0:
            if block % 2 == 0:
                ag.barrier()
            else:
                ag.barrier()
        elif CASE == 1:
            if block % 2 == 0:
                ag.barrier()
        elif CASE == 2:
            if block < n - 1:
                ag.barrier()
        else:
            if N > 512:
                ag.barrier()
        z[256 * block].store(tile.load(BACK, width=4), width=4)
    elif CASE < 12:
        ag.grid(1)
        for k in ag.range(n):
            ag.barrier()
            tile.store(x[256 * k].load(PART, width=4), width=4)
            if CASE == 4:
                if k % 4 == 1:
                    ag.barrier()
                else:
                    ag.barrier()
            elif CASE == 5:
                if k < 2:
                    ag.barrier()
            elif CASE == 6:
                if k + 1 < n:
                    ag.barrier()
            elif CASE == 7:
                for _ in ag.range(k):
                    ag.barrier()
            elif CASE == 8:
                if k % 2 == 1:
                    ag.barrier()
            elif CASE == 9:
                for _ in ag.range(n // 4):
                    ag.barrier()
            elif CASE == 10:
                for _ in ag.range(k + 1):
                    ag.barrier()
            else:
                if k % 4 != 3:
                    ag.barrier()
            z[256 * k].store(tile.load(BACK, width=4), width=4)
    else:
        ag.grid(1)
        first = x.load(PART, width=4)
        tile.store(first, width=4)
        ag.barrier()
        got = tile.load(BACK, width=4)
        ag.barrier()
        for k in ag.range(n):
            z[256 * k].store(x[256 * k].load(PART, width=4), width=4)
            if CASE in (12, 13):
                if k % 3 == 0:
                    got = tile.load(BACK, width=4)
                    ag.barrier()
                    tile.store(first, width=4)
                    if CASE == 13:
                        ag.barrier()
            elif CASE == 14:
                if k % 3 == 0:
                    tile.store(first, width=4)
                if k % 3 == 1:
                    got = tile.load(BACK, width=4)
                if k % 3 == 2:
                    ag.barrier()
            else:
                if k % 2 == 0:
                    got = tile.load(BACK, width=4)
                    ag.barrier()
                    tile.store(first, width=4)
        last.store(got.held_as(PART), width=4)
