"""Logarithm of the sum of exponentials of long rows, one wave per row; what is subtracted may lag behind."""

import argus as ag
from argus import f32, inf

CASE = ag.knob(0, legal=tuple(range(10)), why="which variant")

ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")
ONE = ag.Owner(lane=64, z="lane*0")


@ag.kernel(threads=64, computes="s[m] = log2(sum(exp2(R[m, k]), k))", example=dict(M=2, N=512))
def logs(R: ag.In["M N", f32], s: ag.Out["M", f32]):
    m = ag.grid(M)
    top = ag.full(ONE, f32, -1.0e30).without()
    den = ag.zeros(ONE, f32).without()
    best = ag.full(ONE, f32, -1.0e30).without()
    for j in ag.range(N // 256 if CASE == 9 else ag.cdiv(N, 256)):
        x = R[m, 256 * j].load(ROW, width=4, guard="shape")
        if CASE == 7:
            x = ag.where(256 * j + x.n <= N, x, -inf)
        elif CASE != 8:
            x = ag.where(256 * j + x.n < N, x, -inf)
        new = ag.max(top, x.max("n"))
        ref = ag.where(new - top > 8.0, new, top) if CASE in (1, 3, 4, 5, 6) else new
        keep = ag.exp2(top - (new if CASE == 3 else ref))
        p = ag.exp2(x - (new if CASE == 4 else ref))
        den = (den if CASE == 2 else den * keep) + p.sum("n")
        top = ref
        best = new
    if CASE == 5:
        top = best
    if CASE == 6:
        den = den * 2.0
    s[m].store(top + ag.log2(den), width=4, guard=ag.lane() == 0)
