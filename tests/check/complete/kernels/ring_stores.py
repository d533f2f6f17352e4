"""Ring loops that store their output inside the loop: right ones first, then wrong ones."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(24)), why="which variant")

TILE = ag.Layout(n=(256, 4))
HERE = ag.Owner(t=256, n="t")
THERE = ag.Owner(t=256, n="255 - t")


@ag.kernel(threads=256, requires="K >= 1 and K <= 4096", computes="y[k, n] = 2 * x[k, n]", example=dict(K=7))
def ring_stores(x: ag.In["K n=256", f32], y: ag.Out["K n=256", f32]):
    ag.grid(1)
    ring = ag.ring(2, a=(TILE, f32))
    three = ag.ring(3, a=(TILE, f32))
    if CASE == 0:  # right: store, barrier, read what another thread stored
        for k in ag.range(K):
            ring[k].a.store(x[k].load(HERE, width=4), width=4)
            ag.barrier()
            y[k].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 1:  # right: three slots, two tiles ahead, under conditions
        three[0].a.store(x[0].load(HERE, width=4), width=4)
        three[1].a.store(x[1].load(HERE, width=4), width=4)
        for k in ag.range(K):
            ag.barrier()
            got = three[k].a.load(THERE, width=4)
            if k + 2 < K:
                three[k + 2].a.store(x[k + 2].load(HERE, width=4), width=4)
            y[k].store(got * 2.0, width=4)
    elif CASE == 2:  # right: direct copies, one tile ahead
        x[0].copy(ring[0].a, HERE, width=4)
        for k in ag.range(K):
            ag.wait(vm=0)
            ag.barrier()
            if k + 1 < K:
                x[k + 1].copy(ring[k + 1].a, HERE, width=4)
            y[k].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 3:  # right: registers and two slots, two tiles ahead
        ring[0].a.store(x[0].load(HERE, width=4), width=4)
        ahead = x[1].load(HERE, width=4)
        for k in ag.range(K):
            ag.barrier()
            got = ring[k].a.load(THERE, width=4)
            if k + 1 < K:
                ring[k + 1].a.store(ahead, width=4)
            if k + 2 < K:
                ahead = x[k + 2].load(HERE, width=4)
            y[k].store(got * 2.0, width=4)
    elif CASE == 4:  # right: the last tile after the loop
        ring[0].a.store(x[0].load(HERE, width=4), width=4)
        for k in ag.range(K - 1):
            ahead = x[k + 1].load(HERE, width=4)
            ag.barrier()
            y[k].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
            ring[k + 1].a.store(ahead, width=4)
        ag.barrier()
        y[K - 1].store(ring[K - 1].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 5:  # right: tiles in falling order
        for k in ag.range(K):
            ring[k].a.store(x[K - 1 - k].load(HERE, width=4), width=4)
            ag.barrier()
            y[K - 1 - k].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 6:  # right: one slot, two barriers
        for k in ag.range(K):
            ring[0].a.store(x[k].load(HERE, width=4), width=4)
            ag.barrier()
            got = ring[0].a.load(THERE, width=4)
            ag.barrier()
            y[k].store(got * 2.0, width=4)
    elif CASE == 7:  # right: loads without a condition, past the end they are zero and never read
        three[0].a.store(x[0].load(HERE, width=4), width=4)
        three[1].a.store(x[1].load(HERE, width=4), width=4)
        for k in ag.range(K):
            ag.barrier()
            y[k].store(three[k].a.load(THERE, width=4) * 2.0, width=4)
            three[k + 2].a.store(x[k + 2].load(HERE, width=4), width=4)
    elif CASE == 8:  # wrong: two tiles ahead in two slots
        ring[0].a.store(x[0].load(HERE, width=4), width=4)
        ring[1].a.store(x[1].load(HERE, width=4), width=4)
        for k in ag.range(K):
            ag.barrier()
            got = ring[k].a.load(THERE, width=4)
            if k + 2 < K:
                ring[k + 2].a.store(x[k + 2].load(HERE, width=4), width=4)
            y[k].store(got * 2.0, width=4)
    elif CASE == 9:  # wrong: the slot of another tile
        for k in ag.range(K):
            ring[k].a.store(x[k].load(HERE, width=4), width=4)
            ag.barrier()
            y[k].store(ring[k + 1].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 10:  # wrong: the first tile is stored again and the last never
        for k in ag.range(K):
            ring[k].a.store(x[k].load(HERE, width=4), width=4)
            ag.barrier()
            y[ag.max(k - 1, 0)].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 11:  # wrong: no barrier
        for k in ag.range(K):
            ring[k].a.store(x[k].load(HERE, width=4), width=4)
            y[k].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 12:  # wrong: the last tile is left out
        for k in ag.range(K - 1):
            ring[k].a.store(x[k].load(HERE, width=4), width=4)
            ag.barrier()
            y[k].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 13:  # wrong: the condition of the prefetch is one short
        three[0].a.store(x[0].load(HERE, width=4), width=4)
        three[1].a.store(x[1].load(HERE, width=4), width=4)
        for k in ag.range(K):
            ag.barrier()
            got = three[k].a.load(THERE, width=4)
            if k + 3 < K:
                three[k + 2].a.store(x[k + 2].load(HERE, width=4), width=4)
            y[k].store(got * 2.0, width=4)
    elif CASE == 14:  # wrong: every second tile is stored
        for k in ag.range(K):
            ring[k].a.store(x[k].load(HERE, width=4), width=4)
            ag.barrier()
            got = ring[k].a.load(THERE, width=4)
            if k % 2 == 0:
                y[k].store(got * 2.0, width=4)
    elif CASE == 15:  # wrong: the tile is stored at the other half of the pair
        for k in ag.range(K):
            ring[k].a.store(x[k].load(HERE, width=4), width=4)
            ag.barrier()
            y[k ^ 1].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 16:  # wrong: the last tile is stored in the loop and after it
        for k in ag.range(K):
            ring[k].a.store(x[k].load(HERE, width=4), width=4)
            ag.barrier()
            y[k].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
        y[K - 1].store(ring[K - 1].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 17:  # wrong: the copy is not waited for
        x[0].copy(ring[0].a, HERE, width=4)
        for k in ag.range(K):
            ag.barrier()
            if k + 1 < K:
                x[k + 1].copy(ring[k + 1].a, HERE, width=4)
            y[k].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 18:  # wrong: after the loop the tile before the last
        ring[0].a.store(x[0].load(HERE, width=4), width=4)
        for k in ag.range(K - 1):
            ahead = x[k + 1].load(HERE, width=4)
            ag.barrier()
            y[k].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
            ring[k + 1].a.store(ahead, width=4)
        ag.barrier()
        y[K - 1].store(ring[K].a.load(THERE, width=4) * 2.0, width=4)
    elif CASE == 19:  # wrong: the odd tile that a step of two leaves over
        for k in ag.range(0, K - 1, 2):
            ring[0].a.store(x[k].load(HERE, width=4), width=4)
            ring[1].a.store(x[k + 1].load(HERE, width=4), width=4)
            ag.barrier()
            y[k].store(ring[0].a.load(THERE, width=4) * 2.0, width=4)
            y[k + 1].store(ring[1].a.load(THERE, width=4) * 2.0, width=4)
            ag.barrier()
    elif CASE == 20:  # right: two tiles a turn, the odd one is past the end
        for k in ag.range(0, K, 2):
            ring[0].a.store(x[k].load(HERE, width=4), width=4)
            ring[1].a.store(x[k + 1].load(HERE, width=4), width=4)
            ag.barrier()
            y[k].store(ring[0].a.load(THERE, width=4) * 2.0, width=4)
            y[k + 1].store(ring[1].a.load(THERE, width=4) * 2.0, width=4)
            ag.barrier()
    elif CASE == 21:  # right: even and odd turns store by themselves
        for k in ag.range(K):
            ring[k].a.store(x[k].load(HERE, width=4), width=4)
            ag.barrier()
            got = ring[k].a.load(THERE, width=4)
            if k % 2 == 0:
                y[k].store(got * 2.0, width=4)
            else:
                y[k].store(got + got, width=4)
    elif CASE == 22:  # wrong: odd turns store the tile of the even ones
        for k in ag.range(K):
            ring[k].a.store(x[k].load(HERE, width=4), width=4)
            ag.barrier()
            got = ring[k].a.load(THERE, width=4)
            if k % 2 == 0:
                y[k].store(got * 2.0, width=4)
            else:
                y[k - 1].store(got + got, width=4)
    else:  # wrong: the step is two, one tile a turn
        for k in ag.range(0, K, 2):
            ring[k].a.store(x[k].load(HERE, width=4), width=4)
            ag.barrier()
            y[k].store(ring[k].a.load(THERE, width=4) * 2.0, width=4)
            ag.barrier()
