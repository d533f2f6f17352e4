"""The entropy of rows at any length: H[m] = -sum(P[m, n] * log2(P[m, n]), n).

A row that does not fill its lanes is padded with zeros, and 0 * log2(0) is 0 * -inf, a NaN: one padded lane would spoil
the row. So what is summed is selected by `where`, which does not look at what it leaves out. Without the selection, or
with a factor of 0.0 in its place, the kernel is not proved.

    argus check examples/kernels/entropy.py
    argus run examples/kernels/entropy.py --shape M=5,N=200
"""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")
ONE = ag.Owner(lane=64, z="lane*0")
CHUNK = 256  # what a wave holds: 64 lanes of 16 bytes


@ag.kernel(
    threads=64,
    requires="M >= 1 and N >= 1 and N % 4 == 0",
    computes="H[m] = -sum(P[m, n] * log2(P[m, n]), n)",
    example=dict(M=5, N=200),
)
def entropy(P: ag.In["M N", f32], H: ag.Out["M", f32]):
    m = ag.grid(M)
    total = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, CHUNK)):
        p = P[m, i * CHUNK].load(ROW, width=16, guard="shape")
        total = total + ag.where(i * CHUNK + p.n < N, p * ag.log2(p), 0.0).sum("n")
    H[m].store(-total, width=4, guard=ag.lane() == 0)
