"""Maximum of 3 x 3 windows in f32: a lane makes one result, a wave 64 neighbours of a row.

X is the input as windows, an overlapping view: X[z, p, q, r, s] is tap (r, s) of the window at (p, q).
"""

import argus as ag
from argus import f32, inf

TASK = dict(
    family="window",
    shapes=[dict(Z=64, P=512, Q=512, sZ=264196, sP=514, sR=514)],
    held_out=[dict(Z=3, P=32, Q=512, sZ=17476, sP=514, sR=514), dict(Z=2, P=32, Q=512, sZ=33924, sP=1028, sR=514)],
    small=[dict(Z=1, P=16, Q=512, sZ=9252, sP=514, sR=514)],
    library="pool",
)

OUT = ag.Owner(lane=64, q="lane")


@ag.kernel(
    threads=64,
    requires="Q % 64 == 0",
    computes="Y[z, p, q] = max(max(X[z, p, q, r, s], s), r)",
    example=dict(Z=2, P=4, Q=128, sZ=2000, sP=140, sR=140),
)
def pooling(X: ag.In["Z P Q r=3 s=3", f32, "sZ sP 1 sR 1"], Y: ag.Out["Z P Q", f32]):
    z, p, bq = ag.grid(Z, P, Q // 64)
    top = ag.full(OUT, f32, -inf)
    for r in range(3):
        row = ag.full(OUT, f32, -inf)
        for s in range(3):
            tap = X[z, p, 64 * bq, r, s].load(OUT, width=4)
            row = ag.max(row, tap)
        top = ag.max(top, row)
    Y[z, p, 64 * bq].store(top, width=4)
