"""Counted waits that rely on an access which is dead, guarded or skipped: it may never be issued."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(24)), why="which variant")

LDS = ag.Layout(r=(8, 256), c=(64, 4))
IN = ag.Owner(t=256, r="t//64", c="t%64")
OUT = ag.Owner(t=256, r="3 - t//64", c="t%64")


@ag.kernel(threads=256, computes="Y[m, n] = X[m, n]", requires="S < 8", example=dict(S=3))
def issued(X: ag.In["m=4 n=64", f32], Y: ag.Out["m=4 n=64", f32], W: ag.Out["m=4 n=64", f32], size: ag.In["S", f32]):
    ag.grid(1)
    tile = ag.shared(LDS, f32)
    lane = ag.lane()
    keep = X.load(IN, width=4)
    if CASE == 0:  # dead load
        X.copy(tile, IN, width=4)
        dead = X.load(IN, width=4)
        ag.wait(vm=1)
        ag.barrier()
    elif CASE == 1:  # three dead loads
        X.copy(tile, IN, width=4)
        for n in ag.unroll(3):
            dead = X.load(OUT, width=4)
        ag.wait(vm=3)
        ag.barrier()
    elif CASE == 2:  # dead arithmetic behind the load
        X.copy(tile, IN, width=4)
        dead = X.load(IN, width=4) * 2.0 + 1.0
        ag.wait(vm=1)
        ag.barrier()
    elif CASE == 3:  # a load that only a dead loop carries
        X.copy(tile, IN, width=4)
        sums = keep
        for k in ag.range(2):
            sums = sums + X.load(IN, width=4)
        ag.wait(vm=2)
        ag.barrier()
    elif CASE == 4:  # guarded LDS load, guard false everywhere
        tile.store(keep, width=4)
        got = tile.load(IN, width=4, guard=S > 100)
        ag.wait(lgkm=1)
        ag.barrier(bare=True)
        W.store(got, width=4)
    elif CASE == 5:  # guarded LDS store
        tile.store(keep, width=4)
        tile.store(keep, r=4, width=4, guard=S == 7)
        ag.wait(lgkm=1)
        ag.barrier(bare=True)
    elif CASE == 6:  # guarded by wave
        tile.store(keep, width=4)
        tile.store(keep, r=4, width=4, guard=ag.wave() == 0)
        ag.wait(lgkm=1)
        ag.barrier(bare=True)
    elif CASE == 7:  # guarded by lane, no lane of waves 1 to 3
        tile.store(keep, width=4)
        tile.store(keep, r=4, width=4, guard=ag.thread() < 10)
        ag.wait(lgkm=1)
        ag.barrier(bare=True)
    elif CASE == 8:  # under a branch of the workgroup
        tile.store(keep, width=4)
        if S > 5:
            tile.store(keep, r=4, width=4)
        ag.wait(lgkm=1)
        ag.barrier(bare=True)
    elif CASE == 9:  # under a branch of lanes
        tile.store(keep, width=4)
        if ag.thread() < 10:
            tile.store(keep, r=4, width=4)
        ag.wait(lgkm=1)
        ag.barrier(bare=True)
    elif CASE == 10:  # in a loop that may not run
        tile.store(keep, width=4)
        for k in ag.range(S - 3):
            tile.store(keep, r=4, width=4)
        ag.wait(lgkm=1)
        ag.barrier(bare=True)
    elif CASE == 11:  # copies under a branch
        X.copy(tile, IN, width=4)
        if ag.wave() == 1:
            X.copy(tile, IN, r=4, width=4)
        ag.wait(vm=1)
        ag.barrier()
    elif CASE == 12:  # dead load of LDS
        tile.store(keep, width=4)
        dead = tile.load(IN, width=4)
        ag.wait(lgkm=1)
        ag.barrier(bare=True)
    elif CASE == 13:  # a load whose value is multiplied away by the language
        X.copy(tile, IN, width=4)
        other = X.load(IN, width=4)
        W.store(ag.where(other == other, keep, keep), width=4)
        ag.wait(vm=2)
        ag.barrier()
    elif CASE == 14:  # a guarded store to LDS inside a ring
        for k in ag.range(2):
            tile.store(keep, width=4)
            tile.store(keep, r=4, width=4, guard=lane < S - 3)
            ag.wait(lgkm=1)
            ag.barrier(bare=True)
    elif CASE == 15:  # right: a store after the copy
        X.copy(tile, IN, width=4)
        W.store(keep, width=4)
        ag.wait(vm=1)
        ag.barrier()
    elif CASE == 16:  # right: a guarded global store is issued all the same
        X.copy(tile, IN, width=4)
        W.store(keep, width=4, guard=lane < S)
        ag.wait(vm=1)
        ag.barrier()
    elif CASE == 17:  # right: a load that is used
        X.copy(tile, IN, width=4)
        late = X.load(IN, width=4)
        ag.wait(vm=1)
        ag.barrier()
        W.store(late, width=4)
    elif CASE == 18:  # right: a second store to LDS
        tile.store(keep, width=4)
        tile.store(keep, r=4, width=4)
        ag.wait(lgkm=1)
        ag.barrier(bare=True)
    elif CASE == 19:  # right: everything is waited for
        tile.store(keep, width=4)
        tile.store(keep, r=4, width=4, guard=lane < S)
        ag.wait(lgkm=0)
        ag.barrier(bare=True)
    elif CASE == 20:  # right: a guard of the workgroup on a global store
        X.copy(tile, IN, width=4)
        W.store(keep, width=4, guard=S > 5)
        ag.wait(vm=1)
        ag.barrier()
    elif CASE == 21:  # an address outside the tensor is issued too
        X.copy(tile, IN, width=4)
        W[4].store(keep, width=4)
        ag.wait(vm=1)
        ag.barrier()
    elif CASE == 22:  # guarded LDS atomics do not exist; a guarded load of other lanes
        tile.store(keep, width=4)
        got = tile.load(IN, width=4, guard=lane >= 64 - S * 0)
        ag.wait(lgkm=1)
        ag.barrier(bare=True)
        W.store(got, width=4)
    else:  # right: a dead load before, not after
        dead = X.load(IN, width=4)
        X.copy(tile, IN, width=4)
        W.store(keep, width=4)
        ag.wait(vm=1)
        ag.barrier()
    Y[0].store(tile.load(OUT, width=4).held_as(OUT), width=4)
