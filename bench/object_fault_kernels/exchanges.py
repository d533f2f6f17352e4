"""y is x with its elements moved between the lanes of a wave: each kernel by another instruction of the machine."""

import argus as ag
from argus import i32

EACH = ag.Owner(t=64, i="t")


@ag.kernel(threads=64, computes="Y[i] = X[i + 1 - 2 * (i % 2)]", requires="N % 64 == 0", example=dict(N=128))
def neighbors(X: ag.In["N", i32], Y: ag.Out["N", i32]):
    b = ag.grid(N // 64)
    x = X[64 * b].load(EACH, width=4)
    Y[64 * b + ag.lane()].store(x.from_lane(ag.lane() ^ 1).without(), width=4)


@ag.kernel(threads=64, computes="Y[i] = X[i + 16 - 32 * (i // 16 % 2)]", requires="N % 64 == 0", example=dict(N=128))
def rows(X: ag.In["N", i32], Y: ag.Out["N", i32]):
    b = ag.grid(N // 64)
    x = X[64 * b].load(EACH, width=4)
    Y[64 * b + ag.lane()].store(x.from_lane(ag.lane() ^ 16).without(), width=4)


@ag.kernel(threads=64, computes="Y[i] = X[i + 32 - 64 * (i // 32 % 2)]", requires="N % 64 == 0", example=dict(N=128))
def halves(X: ag.In["N", i32], Y: ag.Out["N", i32]):
    b = ag.grid(N // 64)
    x = X[64 * b].load(EACH, width=4)
    Y[64 * b + ag.lane()].store(x.from_lane(ag.lane() ^ 32).without(), width=4)


@ag.kernel(threads=64, computes="Y[i] = X[i - i % 64 + 63 - i % 64]", requires="N % 64 == 0", example=dict(N=128))
def reversed_lanes(X: ag.In["N", i32], Y: ag.Out["N", i32]):
    b = ag.grid(N // 64)
    x = X[64 * b].load(EACH, width=4)
    Y[64 * b + ag.lane()].store(x.from_lane(63 - ag.lane()).without(), width=4)
