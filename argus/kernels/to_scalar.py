"""One number of a vector: sum or mean of P, by one workgroup. The second launch of losses and of the Frobenius norm.

    L[0] = sum(P[m], m) / M

P has one number per row of what the first launch read, so that there is little to add up; the order is fixed, unlike
that of atomics. P is seen as one row: `computes` has an index for it.
"""

import argus as ag
from argus import f32

OP = ag.knob("mean", legal=("sum", "mean"), why="what is taken of P")

PIECE = ag.Owner(t=256, e=4, m="e*256 + t")
ONE = ag.Owner(t=256, z="t*0")
WAVES = ag.Layout(w=(4, 4))
EACH = ag.Owner(t=256, i=4, w="i")


@ag.kernel(
    threads=256,
    requires="M >= 1",
    computes="L[z] = sum(P[z, m], m)" + (" / M" if OP == "mean" else ""),
    example=dict(M=3000),
)
def to_scalar(P: ag.In["one=1 M", f32], L: ag.Out["one=1", f32]):
    ag.grid(1)
    sums = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(M, 1024)):
        sums = sums + P[0, i * 1024].load(PIECE, width=4, guard="shape").sum("m", within="wave")
    parts = ag.shared(WAVES, f32)
    parts.store(sums, w=ag.wave(), width=4, guard=ag.lane() == 0)
    ag.barrier()
    total = parts.load(EACH, width=4).sum("w")
    L.store(total / f32(M) if OP == "mean" else total, width=4, guard=ag.thread() == 0)
