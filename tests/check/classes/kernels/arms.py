"""The two arms of a branch that splits a wave meet in LDS. Which arm runs first, the text does not say."""

import argus as ag
from argus import f32

CASE = ag.knob(0, legal=tuple(range(24)), why="which variant")
WAVES = 2 if CASE in (8, 9, 10, 18) else 1

HALF = ag.Owner(t=64 * WAVES, i="t%32")
TILE = ag.Layout(i=(64, 4))


@ag.kernel(threads=64 * WAVES, computes="z[i] = y[i]", requires="S <= 64", example=dict(S=32))
def arms(x: ag.In["n=32", f32], y: ag.In["n=32", f32], z: ag.Out["n=32", f32], size: ag.In["S", f32]):
    ag.grid(1)
    tile = ag.shared(TILE, f32)
    lane = ag.lane()
    a = x.load(HALF, width=4)
    b = y.load(HALF, width=4)
    first = ag.thread() < 32
    if CASE == 0:  # write after write
        if lane < 32:
            tile.store(a, width=4)
        else:
            tile.store(b, width=4)
        ag.barrier()
        z.store(tile.load(HALF, width=4), width=4, guard=first)
    elif CASE == 1:  # the other way round
        if lane >= 32:
            tile.store(a, width=4)
        else:
            tile.store(b, width=4)
        ag.barrier()
        z.store(tile.load(HALF, width=4), width=4, guard=first)
    elif CASE == 2:  # read after write
        got = a
        if lane >= 32:
            tile.store(b, width=4)
        else:
            got = tile.load(HALF, width=4)
        z.store(got, width=4, guard=first)
    elif CASE == 3:
        got = a
        if lane < 32:
            tile.store(b, width=4)
        else:
            got = tile.load(HALF, width=4)
        z.store(got, width=4, guard=lane >= 32)
    elif CASE == 4:  # write after read
        tile.store(b, width=4, guard=first)
        ag.barrier()
        got = a
        if lane < 32:
            got = tile.load(HALF, width=4)
        else:
            tile.store(a, width=4)
        z.store(got, width=4, guard=first)
    elif CASE == 5:
        tile.store(b, width=4, guard=first)
        ag.barrier()
        got = a
        if lane >= 32:
            got = tile.load(HALF, width=4)
        else:
            tile.store(a, width=4)
        z.store(got, width=4, guard=lane >= 32)
    elif CASE == 6:  # nested
        if lane < 48:
            if lane < 32:
                tile.store(a, width=4)
            else:
                tile.store(b, width=4)
        else:
            tile.store(b, width=4)
        ag.barrier()
        z.store(tile.load(HALF, width=4), width=4, guard=first)
    elif CASE == 7:  # in a loop
        for k in ag.range(2):
            if lane < 32:
                tile.store(a, width=4)
            else:
                tile.store(b, width=4)
            ag.barrier()
        z.store(tile.load(HALF, width=4), width=4, guard=first)
    elif CASE == 8:  # only the second wave is split
        if ag.thread() < 96:
            tile.store(a, width=4, guard=ag.thread() >= 64)
        else:
            tile.store(b, width=4)
        ag.barrier()
        z.store(tile.load(HALF, width=4), width=4, guard=first)
    elif CASE == 9:  # the arms are whole waves: no barrier orders them
        if ag.wave() == 0:
            tile.store(a, width=4, guard=first)
        else:
            tile.store(b, width=4, guard=lane < 32)
        ag.barrier()
        z.store(tile.load(HALF, width=4), width=4, guard=first)
    elif CASE == 10:  # both waves write the same value in different arms, then read
        got = a
        if lane < 32:
            tile.store(b, width=4)
        else:
            got = tile.load(HALF, width=4)
        z.store(got, width=4, guard=ag.thread() >= 96)
    elif CASE == 11:  # the condition depends on a size
        if lane < S:
            tile.store(a, width=4)
        else:
            tile.store(b, width=4)
        ag.barrier()
        z.store(tile.load(HALF, width=4), width=4, guard=first)
    elif CASE == 12:  # right: odd and even lanes keep to odd and even places
        if lane % 2 == 0:
            tile.store(a, i=0, width=4)
            tile.store(b, i=32, width=4)
        else:
            tile.store(b, i=0, width=4)
            tile.store(b, i=32, width=4)
        ag.barrier()
        z.store(tile.load(HALF, width=4, i=32), width=4, guard=first)
    elif CASE == 13:  # stored and loaded again inside one arm, overwritten by the other
        got = a
        if lane < 32:
            tile.store(b, width=4)
            got = tile.load(HALF, width=4)
        else:
            tile.store(a, width=4)
        z.store(got, width=4, guard=first)
    elif CASE == 14:  # a branch in the else arm
        if lane < 16:
            tile.store(b, width=4)
        else:
            if lane < 32:
                tile.store(b, width=4)
            else:
                tile.store(a, width=4)
        ag.barrier()
        z.store(tile.load(HALF, width=4), width=4, guard=first)
    elif CASE == 15:  # right: the arms keep to different halves
        if lane < 32:
            tile.store(b, width=4)
        else:
            tile.store(a, i=32, width=4)
        ag.barrier()
        z.store(tile.load(HALF, width=4), width=4, guard=first)
    elif CASE == 16:  # right: one branch after the other, a barrier between
        if lane < 32:
            tile.store(a, width=4)
        ag.barrier()
        if lane >= 32:
            tile.store(b, width=4)
        ag.barrier()
        z.store(tile.load(HALF, width=4), width=4, guard=first)
    elif CASE == 17:  # right: both read
        tile.store(b, width=4, guard=first)
        ag.barrier()
        got = a
        if lane < 32:
            got = tile.load(HALF, width=4)
        else:
            got = tile.load(HALF, width=4)
        z.store(got, width=4, guard=first)
    elif CASE == 18:  # right: each wave has its own half
        if ag.wave() == 0:
            tile.store(b, width=4, guard=lane < 32)
        else:
            tile.store(a, i=32, width=4, guard=lane < 32)
        ag.barrier()
        z.store(tile.load(HALF, width=4), width=4, guard=first)
    elif CASE == 19:  # right: stored and loaded inside one arm
        got = a
        if lane < 32:
            tile.store(b, width=4)
            got = tile.load(HALF, width=4)
        else:
            tile.store(a, i=32, width=4)
        z.store(got, width=4, guard=first)
    elif CASE == 20:  # one branch after the other, nothing between
        if lane < 32:
            tile.store(a, width=4)
        if lane >= 32:
            tile.store(b, width=4)
        ag.barrier()
        z.store(tile.load(HALF, width=4), width=4, guard=first)
    elif CASE == 21:
        got = a
        if lane >= 32:
            tile.store(b, width=4)
        if lane < 32:
            got = tile.load(HALF, width=4)
        z.store(got, width=4, guard=first)
    elif CASE == 22:  # write after write in global memory
        if lane < 32:
            z.store(a, width=4)
        else:
            z.store(b, width=4)
    else:  # right: in a loop, different halves
        for k in ag.range(2):
            if lane < 32:
                tile.store(b, width=4)
            else:
                tile.store(a, i=32, width=4)
            ag.barrier()
        z.store(tile.load(HALF, width=4), width=4, guard=first)
