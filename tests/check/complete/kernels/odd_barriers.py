"""A barrier in every second turn of a ring loop: right ones first, then wrong ones."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(14)), why="which variant")

TILE = ag.Layout(n=(128, 4))
HERE = ag.Owner(t=128, n="t")
THERE = ag.Owner(t=128, n="127 - t")


@ag.kernel(threads=128, requires="K >= 1 and K <= 4096", computes="y[k, n] = x[k, n]", example=dict(K=8))
def odd_barriers(x: ag.In["K n=128", f32], y: ag.Out["K n=128", f32]):
    ag.grid(1)
    ring = ag.ring(4, a=(TILE, f32))
    two = ag.ring(2, a=(TILE, f32))
    if CASE == 0:  # right: two tiles are stored, then a barrier, then both are read
        for i in ag.range(2 * ag.cdiv(K, 2)):
            ring[i].a.store(x[i].load(HERE, width=4), width=4)
            if i % 2 == 1:
                ag.barrier()
                y[i - 1].store(ring[i - 1].a.load(THERE, width=4), width=4)
                y[i].store(ring[i].a.load(THERE, width=4), width=4)
    elif CASE == 1:  # right: each thread reads what it stored; the barrier keeps waves together
        for i in ag.range(K):
            two[i].a.store(x[i].load(HERE, width=4), width=4)
            if i % 2 == 1:
                ag.barrier()
            y[i].store(two[i].a.load(HERE, width=4), width=4)
    elif CASE == 2:  # right: one barrier in every turn, one more in odd ones
        for i in ag.range(K):
            two[i].a.store(x[i].load(HERE, width=4), width=4)
            ag.barrier()
            if i % 2 == 1:
                ag.barrier()
            y[i].store(two[i].a.load(THERE, width=4), width=4)
    elif CASE == 3:  # right: even and odd turns have each their barrier
        for i in ag.range(K):
            two[i].a.store(x[i].load(HERE, width=4), width=4)
            if i % 2 == 1:
                ag.barrier()
            else:
                ag.barrier()
            y[i].store(two[i].a.load(THERE, width=4), width=4)
    elif CASE == 4:  # right: one slot; the barrier before the store is needed in odd turns only, as even ones have it
        for i in ag.range(K):
            if i % 2 == 1:
                ag.barrier()
            if i % 2 == 0:
                ag.barrier()
            two[0].a.store(x[i].load(HERE, width=4), width=4)
            ag.barrier()
            y[i].store(two[0].a.load(THERE, width=4), width=4)
    elif CASE == 5:  # right: the pair is made of the next turn, barriers at even turns
        ring[0].a.store(x[0].load(HERE, width=4), width=4)
        ring[1].a.store(x[1].load(HERE, width=4), width=4)
        for i in ag.range(K):
            if i % 2 == 0:
                ag.barrier()
            ring[i + 2].a.store(x[i + 2].load(HERE, width=4), width=4)
            y[i].store(ring[i].a.load(THERE, width=4), width=4)
    elif CASE == 6:  # wrong: the reads of even turns are not behind a barrier
        for i in ag.range(K):
            two[i].a.store(x[i].load(HERE, width=4), width=4)
            if i % 2 == 1:
                ag.barrier()
            y[i].store(two[i].a.load(THERE, width=4), width=4)
    elif CASE == 7:  # wrong: the barrier of the wrong turn
        for i in ag.range(2 * ag.cdiv(K, 2)):
            ring[i].a.store(x[i].load(HERE, width=4), width=4)
            if i % 2 == 0:
                ag.barrier()
            if i % 2 == 1:
                y[i - 1].store(ring[i - 1].a.load(THERE, width=4), width=4)
                y[i].store(ring[i].a.load(THERE, width=4), width=4)
    elif CASE == 8:  # wrong: two slots, the next pair overwrites what is being read
        for i in ag.range(2 * ag.cdiv(K, 2)):
            two[i].a.store(x[i].load(HERE, width=4), width=4)
            if i % 2 == 1:
                ag.barrier()
                y[i - 1].store(two[i - 1].a.load(THERE, width=4), width=4)
                y[i].store(two[i].a.load(THERE, width=4), width=4)
    elif CASE == 9:  # wrong: an odd number of tiles leaves the last one unread
        for i in ag.range(K):
            ring[i].a.store(x[i].load(HERE, width=4), width=4)
            if i % 2 == 1:
                ag.barrier()
                y[i - 1].store(ring[i - 1].a.load(THERE, width=4), width=4)
                y[i].store(ring[i].a.load(THERE, width=4), width=4)
    elif CASE == 10:  # wrong: every third turn
        for i in ag.range(K):
            two[i].a.store(x[i].load(HERE, width=4), width=4)
            if i % 3 != 1:
                ag.barrier()
            y[i].store(two[i].a.load(THERE, width=4), width=4)
    elif CASE == 11:  # wrong: the tile three turns ago
        for i in ag.range(2 * ag.cdiv(K, 2)):
            ring[i].a.store(x[i].load(HERE, width=4), width=4)
            if i % 2 == 1:
                ag.barrier()
                y[i - 1].store(ring[i + 1].a.load(THERE, width=4), width=4)
                y[i].store(ring[i].a.load(THERE, width=4), width=4)
    elif CASE == 12:  # wrong: a bare barrier, stores still in flight
        for i in ag.range(2 * ag.cdiv(K, 2)):
            ring[i].a.store(x[i].load(HERE, width=4), width=4)
            if i % 2 == 1:
                ag.barrier(bare=True)
                y[i - 1].store(ring[i - 1].a.load(THERE, width=4), width=4)
                y[i].store(ring[i].a.load(THERE, width=4), width=4)
    else:  # wrong: the pair is stored the other way round
        for i in ag.range(2 * ag.cdiv(K, 2)):
            ring[i].a.store(x[i].load(HERE, width=4), width=4)
            if i % 2 == 1:
                ag.barrier()
                y[i].store(ring[i - 1].a.load(THERE, width=4), width=4)
                y[i - 1].store(ring[i].a.load(THERE, width=4), width=4)
