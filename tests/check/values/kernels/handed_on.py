"""Values handed from one carried name to another while a sum is formed: loads run two iterations ahead."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, n="lane")


@ag.kernel(
    threads=64,
    requires="M >= 2 and N % 64 == 0",
    computes="z[i] = sum(x[m, i], m)",
    example=dict(M=5, N=128),
)
def handed_on(x: ag.In["M N", f32], z: ag.Out["N", f32]):
    b = ag.grid(N // 64)
    total = ag.zeros(ROW, f32)
    now = x[0, b * 64].load(ROW, width=4)
    ahead = x[1, b * 64].load(ROW, width=4)
    twice = now + now
    for j in ag.range(M):
        total = total + (0.25 * twice + 0.5 * now)
        twice = ahead + ahead
        now = ahead
        ahead = x[j + 2, b * 64].load(ROW, width=4, guard=j + 2 < M)
    z[b * 64].store(total, width=4)
