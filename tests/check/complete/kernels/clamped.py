"""A prefetch whose place is clamped to the last tile, `ag.min(kt, n - 1)`: right ones first, then wrong ones."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(16)), why="which variant")

TILE = ag.Layout(n=(256, 4))
HERE = ag.Owner(t=256, n="t")
THERE = ag.Owner(t=256, n="255 - t")


@ag.kernel(threads=256, requires="K >= 1 and K <= 4096", computes="y[k, n] = 2 * x[k, n]", example=dict(K=7))
def clamped(x: ag.In["K n=256", f32], y: ag.Out["K n=256", f32]):
    ag.grid(1)
    ring = ag.ring(2, a=(TILE, f32))
    three = ag.ring(3, a=(TILE, f32))
    if CASE == 0:  # right: registers, one tile ahead
        ahead = x[0].load(HERE, width=4)
        for k in ag.range(K):
            here = ahead
            ahead = x[ag.min(k + 1, K - 1)].load(HERE, width=4)
            y[k].store(here * 2.0, width=4)
    elif CASE == 1:  # right: a ring, one tile ahead
        ring[0].a.store(x[0].load(HERE, width=4), width=4)
        for k in ag.range(K):
            ahead = x[ag.min(k + 1, K - 1)].load(HERE, width=4)
            ag.barrier()
            y[k].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
            ring[k + 1].a.store(ahead, width=4)
    elif CASE == 2:  # right: three slots, two tiles ahead
        three[0].a.store(x[0].load(HERE, width=4), width=4)
        three[1].a.store(x[ag.min(1, K - 1)].load(HERE, width=4), width=4)
        for k in ag.range(K):
            ag.barrier()
            got = three[k].a.load(THERE, width=4)
            three[k + 2].a.store(x[ag.min(k + 2, K - 1)].load(HERE, width=4), width=4)
            y[k].store(got * 2.0, width=4)
    elif CASE == 3:  # right: direct copies
        x[0].copy(ring[0].a, HERE, width=4)
        for k in ag.range(K):
            ag.wait(vm=0)
            ag.barrier()
            x[ag.min(k + 1, K - 1)].copy(ring[k + 1].a, HERE, width=4)
            y[k].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 4:  # right: a choice instead of the minimum
        ahead = x[0].load(HERE, width=4)
        for k in ag.range(K):
            here = ahead
            ahead = x[k + 1 if k + 1 < K else K - 1].load(HERE, width=4)
            y[k].store(here * 2.0, width=4)
    elif CASE == 5:  # right: registers two tiles ahead
        one = x[0].load(HERE, width=4)
        two = x[ag.min(1, K - 1)].load(HERE, width=4)
        for k in ag.range(K):
            here = one
            one = two
            two = x[ag.min(k + 2, K - 1)].load(HERE, width=4)
            y[k].store(here * 2.0, width=4)
    elif CASE == 6:  # right: the last turn loads the first tile
        ahead = x[0].load(HERE, width=4)
        for k in ag.range(K):
            here = ahead
            ahead = x[(k + 1) % K].load(HERE, width=4)
            y[k].store(here * 2.0, width=4)
    elif CASE == 7:  # wrong: clamped one too early
        ahead = x[0].load(HERE, width=4)
        for k in ag.range(K):
            here = ahead
            ahead = x[ag.min(k + 1, ag.max(K - 2, 0))].load(HERE, width=4)
            y[k].store(here * 2.0, width=4)
    elif CASE == 8:  # wrong: the clamped tile is stored too
        for k in ag.range(K):
            y[ag.min(k + 1, K - 1)].store(x[ag.min(k + 1, K - 1)].load(HERE, width=4) * 2.0, width=4)
    elif CASE == 9:  # wrong: the tile of this turn, not the next
        ahead = x[0].load(HERE, width=4)
        for k in ag.range(K):
            here = ahead
            ahead = x[ag.min(k, K - 1)].load(HERE, width=4)
            y[k].store(here * 2.0, width=4)
    elif CASE == 10:  # wrong: the maximum
        ahead = x[0].load(HERE, width=4)
        for k in ag.range(K):
            here = ahead
            ahead = x[ag.max(k + 1, K - 1)].load(HERE, width=4)
            y[k].store(here * 2.0, width=4)
    elif CASE == 11:  # wrong: two tiles ahead in two slots
        ring[0].a.store(x[0].load(HERE, width=4), width=4)
        ring[1].a.store(x[ag.min(1, K - 1)].load(HERE, width=4), width=4)
        for k in ag.range(K):
            ag.barrier()
            got = ring[k].a.load(THERE, width=4)
            ring[k + 2].a.store(x[ag.min(k + 2, K - 1)].load(HERE, width=4), width=4)
            y[k].store(got * 2.0, width=4)
    elif CASE == 12:  # wrong: the second slot starts with the first tile
        three[0].a.store(x[0].load(HERE, width=4), width=4)
        three[1].a.store(x[0].load(HERE, width=4), width=4)
        for k in ag.range(K):
            ag.barrier()
            got = three[k].a.load(THERE, width=4)
            three[k + 2].a.store(x[ag.min(k + 2, K - 1)].load(HERE, width=4), width=4)
            y[k].store(got * 2.0, width=4)
    elif CASE == 13:  # wrong: no barrier between the copy and the reads
        x[0].copy(ring[0].a, HERE, width=4)
        for k in ag.range(K):
            ag.wait(vm=0)
            x[ag.min(k + 1, K - 1)].copy(ring[k + 1].a, HERE, width=4)
            y[k].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 14:  # wrong: two tiles on
        ahead = x[0].load(HERE, width=4)
        for k in ag.range(K):
            here = ahead
            ahead = x[ag.min(k + 2, K - 1)].load(HERE, width=4)
            y[k].store(here * 2.0, width=4)
    else:  # wrong: wraps to the second tile
        ahead = x[0].load(HERE, width=4)
        for k in ag.range(K):
            here = ahead
            ahead = x[(k + 1) % ag.max(K - 1, 1)].load(HERE, width=4)
            y[k].store(here * 2.0, width=4)
