"""The Kullback-Leibler divergence of rows at any length: D[m] = sum(P[m, n] * log(P[m, n] / Q[m, n]), n).

Beyond the end of a row 0 / 0 is a NaN, whatever it is multiplied by: what is summed is selected by `where`, as in
`entropy`.

    argus check examples/kernels/kl.py
    argus run examples/kernels/kl.py --shape M=5,N=200
"""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")
ONE = ag.Owner(lane=64, z="lane*0")
CHUNK = 256  # what a wave holds: 64 lanes of 16 bytes


@ag.kernel(
    threads=64,
    requires="M >= 1 and N >= 1 and N % 4 == 0",
    computes="D[m] = sum(P[m, n] * log(P[m, n] / Q[m, n]), n)",
    example=dict(M=5, N=200),
)
def kl(P: ag.In["M N", f32], Q: ag.In["M N", f32], D: ag.Out["M", f32]):
    m = ag.grid(M)
    total = ag.zeros(ONE, f32).without()
    for i in ag.range(ag.cdiv(N, CHUNK)):
        p = P[m, i * CHUNK].load(ROW, width=16, guard="shape")
        q = Q[m, i * CHUNK].load(ROW, width=16, guard="shape")
        total = total + ag.where(i * CHUNK + p.n < N, p * ag.log(p / q), 0.0).sum("n")
    D[m].store(total, width=4, guard=ag.lane() == 0)
