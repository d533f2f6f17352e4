"""Copies and reads before a barrier that only the use of a register waits for: arithmetic may pass the barrier."""

import argus as ag
from argus import i32

CASE = ag.knob(0, legal=tuple(range(20)), why="which variant")

ROW = ag.Layout(i=(128, 4))
HERE = ag.Owner(t=128, i="t")
THERE = ag.Owner(t=128, i="127 - t")


@ag.kernel(
    threads=128, requires="N % 128 == 0 and K == 2", computes="y[i] = sum(x[k, i], k, 2)", example=dict(N=256, K=2)
)
def register_waits(x: ag.In["K N", i32], y: ag.Out["N", i32]):
    first = 128 * ag.grid(N // 128)
    a, b = ag.shared(ROW, i32), ag.shared(ROW, i32)
    r = ag.zeros(THERE, i32)
    if CASE == 0:  # a sum waits for the younger load; nothing waits for the copy
        x[0, first].copy(a, HERE, width=4)
        r = x[1, first].load(THERE, width=4) + 0
        ag.barrier()
        r = r + a.load(THERE, width=4)
    elif CASE == 1:  # the same in a product
        x[0, first].copy(a, HERE, width=4)
        r = x[1, first].load(THERE, width=4) * 3
        ag.barrier()
        r = a.load(THERE, width=4) + r - 2 * x[1, first].load(THERE, width=4)
    elif CASE == 2:  # the same in a loop
        for k in ag.range(0, K, 2):
            x[k, first].copy(a, HERE, width=4)
            r = r + x[k + 1, first].load(THERE, width=4)
            ag.barrier()
            r = r + a.load(THERE, width=4)
            ag.barrier()
    elif CASE == 3:  # an LDS store before a bare barrier, a younger LDS read used
        a.store(x[0, first].load(HERE, width=4), width=4)
        b.store(x[1, first].load(THERE, width=4), width=4)
        r = b.load(THERE, width=4) + 1
        ag.barrier(bare=True)
        r = r - 1 + a.load(THERE, width=4)
    elif CASE == 4:  # one counted wait, the rest by a use
        a.store(x[0, first].load(HERE, width=4), width=4)
        b.store(x[1, first].load(HERE, width=4), width=4)
        ag.wait(lgkm=1)
        ag.barrier(bare=True)
        r = r + a.load(THERE, width=4)
        ag.barrier(bare=True)
        r = r + b.load(THERE, width=4)
    elif CASE == 5:  # a read, used, then overwritten behind a bare barrier
        a.store(x[0, first].load(HERE, width=4), width=4)
        ag.barrier()
        r = r + a.load(THERE, width=4)
        ag.barrier(bare=True)
        a.store(x[1, first].load(HERE, width=4), width=4)
        ag.barrier()
        r = r + a.load(THERE, width=4)
    elif CASE == 6:  # the same over a loop's back edge
        a.store(x[0, first].load(HERE, width=4), width=4)
        ag.barrier()
        for k in ag.range(K):
            later = x[k + 1, first].load(HERE, width=4, guard=k + 1 < K)
            r = r + a.load(THERE, width=4)
            ag.barrier(bare=True)
            if k + 1 < K:
                a.store(later, width=4)
            ag.barrier()
    elif CASE == 7:  # the same with a guarded store
        a.store(x[0, first].load(HERE, width=4), width=4)
        ag.barrier()
        for k in ag.range(K):
            later = x[k + 1, first].load(HERE, width=4, guard=k + 1 < K)
            r = r + a.load(THERE, width=4)
            ag.barrier(bare=True)
            a.store(later, width=4, guard=k + 1 < K)
            ag.barrier()
    elif CASE == 8:  # a read, then a direct copy over it
        a.store(x[0, first].load(HERE, width=4), width=4)
        ag.barrier()
        r = r + a.load(THERE, width=4)
        ag.barrier(bare=True)
        x[1, first].copy(a, HERE, width=4)
        ag.wait(vm=0)
        ag.barrier()
        r = r + a.load(THERE, width=4)
    elif CASE == 9:  # a maximum waits, in an arm
        x[0, first].copy(a, HERE, width=4)
        r = x[1, first].load(THERE, width=4)
        if ag.wave() == 0:
            r = ag.max(r, r)
        ag.barrier()
        r = r + a.load(THERE, width=4)
    elif CASE == 10:  # right: a barrier that waits, nothing is copied
        a.store(x[0, first].load(HERE, width=4), width=4)
        ag.barrier()
        r = x[1, first].load(THERE, width=4) + a.load(THERE, width=4)
    elif CASE == 11:  # right: the author waits
        x[0, first].copy(a, HERE, width=4)
        r = x[1, first].load(THERE, width=4) + 0
        ag.wait(vm=0)
        ag.barrier()
        r = r + a.load(THERE, width=4)
    elif CASE == 12:  # right: a counted wait with a younger load into registers
        x[0, first].copy(a, HERE, width=4)
        r = x[1, first].load(THERE, width=4)
        ag.wait(vm=1)
        ag.barrier()
        r = r + a.load(THERE, width=4)
    elif CASE == 13:  # right: a store needs the younger load, and stores keep their place
        x[0, first].copy(a, HERE, width=4)
        b.store(x[1, first].load(THERE, width=4), width=4)
        ag.barrier()
        r = b.load(THERE, width=4) + a.load(THERE, width=4)
    elif CASE == 14:  # right: a read is waited for before the bare barrier
        a.store(x[0, first].load(HERE, width=4), width=4)
        ag.barrier()
        r = r + a.load(THERE, width=4)
        ag.wait(lgkm=0)
        ag.barrier(bare=True)
        a.store(x[1, first].load(HERE, width=4), width=4)
        ag.barrier()
        r = r + a.load(THERE, width=4)
    elif CASE == 15:  # the loop with a barrier that waits: right, its sum is not followed
        a.store(x[0, first].load(HERE, width=4), width=4)
        ag.barrier()
        for k in ag.range(K):
            later = x[k + 1, first].load(HERE, width=4, guard=k + 1 < K)
            r = r + a.load(THERE, width=4)
            ag.barrier()
            if k + 1 < K:
                a.store(later, width=4)
            ag.barrier()
    elif CASE == 16:  # a guarded store needs the younger load: a wave without lanes skips store and wait
        x[0, first].copy(a, HERE, width=4)
        r = x[1, first].load(THERE, width=4)
        b.store(r, width=4, guard=ag.thread() < 10)
        ag.barrier()
        r = r + a.load(THERE, width=4)
    elif CASE == 17:  # the wait of one arm only
        x[0, first].copy(a, HERE, width=4)
        r = x[1, first].load(THERE, width=4)
        if ag.wave() == 0:
            b.store(r, width=4)
        ag.barrier()
        r = r + a.load(THERE, width=4)
    elif CASE == 18:  # the load is older than the copy: its use waits for nothing of the copy
        r = x[1, first].load(THERE, width=4)
        x[0, first].copy(a, HERE, width=4)
        b.store(r, width=4)
        ag.barrier()
        r = r + a.load(THERE, width=4)
    else:  # a conversion and an exchange of lanes wait
        x[0, first].copy(a, HERE, width=4)
        r = x[1, first].load(THERE, width=4).to(ag.f32).to(i32)
        ag.barrier()
        r = r + a.load(THERE, width=4)
    y[first].store(r, width=4)
