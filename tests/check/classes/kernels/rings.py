"""Ring loops whose stores to LDS are guarded by wave: other turns, other waves."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(18)), why="which variant")

PART = ag.Owner(t=128, i="t%64")
TILE = ag.Layout(i=(64, 4))


@ag.kernel(threads=128, requires="K >= 2 and K <= 8", computes="Y[k, i] = X[k, i]", example=dict(K=4))
def rings(X: ag.In["K n=64", f32], Y: ag.Out["K n=64", f32]):
    ag.grid(1)
    ring = ag.ring(2, a=(TILE, f32))
    wave = ag.wave()
    zero = wave == 0
    for k in ag.range(K):
        v = X[k].load(PART, width=4)
        if CASE == 0:  # stores of alternating waves into one slot, read by wave 0, no barrier after
            ring[0].a.store(v, width=4, guard=wave == k % 2)
            ag.barrier()
            got = ring[0].a.load(PART, width=4)
        elif CASE == 1:  # the same with slots
            ring[k].a.store(v, width=4, guard=wave == k % 2)
            ag.barrier()
            got = ring[k].a.load(PART, width=4)
        elif CASE == 2:  # one wave stores the same slot every turn
            ring[0].a.store(v, width=4, guard=wave == 1)
            ag.barrier()
            got = ring[0].a.load(PART, width=4)
        elif CASE == 3:  # one wave stores, both read, a barrier after
            ring[0].a.store(v, width=4, guard=wave == 1)
            ag.barrier()
            got = ring[0].a.load(PART, width=4)
            ag.barrier()
        elif CASE == 4:  # right: slots and one barrier
            ring[k].a.store(v, width=4, guard=zero)
            ag.barrier()
            got = ring[k].a.load(PART, width=4)
        elif CASE == 5:  # no barrier between store and load
            ring[k].a.store(v, width=4, guard=zero)
            got = ring[k].a.load(PART, width=4)
            ag.barrier()
        elif CASE == 6:  # as branches
            if wave == k % 2:
                ring[0].a.store(v, width=4)
            ag.barrier()
            got = ring[0].a.load(PART, width=4)
        elif CASE == 7:
            if wave == k % 2:
                ring[k].a.store(v, width=4)
            ag.barrier()
            got = ring[k].a.load(PART, width=4)
        elif CASE == 8:  # wave 1 stores in odd turns only
            if k % 2 == 0:
                ring[0].a.store(v, width=4, guard=zero)
            else:
                ring[0].a.store(v, width=4, guard=wave == 1)
            ag.barrier()
            got = ring[0].a.load(PART, width=4)
        elif CASE == 9:  # right: the reader is the writer
            ring[0].a.store(v, width=4, guard=zero)
            got = ring[0].a.load(PART, width=4)
        elif CASE == 10:  # who reads changes: the other wave
            ring[k].a.store(v, width=4, guard=wave == k % 2)
            got = ring[k].a.load(PART, width=4)
        elif CASE == 11:  # who stores in this slot changes after two turns
            ring[k].a.store(v, width=4, guard=wave == k // 2 % 2)
            ag.barrier()
            got = ring[k].a.load(PART, width=4)
        elif CASE == 12:  # no barrier in the turn, the wave that stores changes after two turns
            ring[k].a.store(v, width=4, guard=wave == k // 2 % 2)
            got = ring[k].a.load(PART, width=4)
        elif CASE == 13:  # no wave stores in the last turn
            ring[0].a.store(v, width=4, guard=k < K - 1)
            ag.barrier()
            got = ring[0].a.load(PART, width=4)
            ag.barrier()
        elif CASE == 14:  # no wave stores in the first turn
            ring[0].a.store(v, width=4, guard=k > 0)
            ag.barrier()
            got = ring[0].a.load(PART, width=4)
            ag.barrier()
        elif CASE == 15:  # right: two barriers
            if wave == k % 2:
                ring[0].a.store(v, width=4)
            ag.barrier()
            got = ring[0].a.load(PART, width=4)
            ag.barrier()
        elif CASE == 16:  # a store of half the lanes, the other half is old
            ring[k].a.store(v, width=4, guard=ag.lane() < 32)
            ag.barrier()
            got = ring[k].a.load(PART, width=4)
        else:  # the guard depends on a size
            ring[k].a.store(v, width=4, guard=wave == K % 2)
            ag.barrier()
            got = ring[k].a.load(PART, width=4)
        if CASE == 10 or CASE == 12:
            Y[k].store(got, width=4, guard=wave == 1 - k // 2 % 2)
        else:
            Y[k].store(got, width=4, guard=zero)
