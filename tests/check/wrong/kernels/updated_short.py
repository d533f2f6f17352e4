"""Wrong: an update whose guard leaves out the last element."""

import argus as ag
from argus import i32

ROW = ag.Owner(lane=64, n="lane")


@ag.kernel(
    threads=64,
    requires="M >= 1 and N >= 1",
    computes="Y[n] = Y[n] + sum(X[m, n], m)",
    example=dict(M=3, N=70),
)
def updated_short(X: ag.In["M N", i32], Y: ag.InOut["N", i32]):
    row, c = ag.grid(M, ag.cdiv(N, 64))
    x = X[row, 64 * c].load(ROW, width=4, guard="shape")
    Y[64 * c].atomic_add(x, guard=lambda n: 64 * c + n < N - 1)
