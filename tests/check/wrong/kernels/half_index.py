"""Wrong: half of a number as an index."""

import argus as ag
from argus import f32, i16, i32

ROW = ag.Owner(lane=64, e=1, m="lane + e")
ONE = ag.Owner(lane=64, x="lane*0")


@ag.kernel(threads=64, computes="Y[b, m] = A[T[b], m]", example=dict(P=4, B=3))
def half_index(A: ag.In["P m=64", f32], T: ag.In["B", i32], Y: ag.Out["B m=64", f32]):
    b = ag.grid(B)
    t = T[b].load(ONE, width=4).bitcast(i16).regs(1, 1).held_as(ONE).to(i32)
    p = ag.as_index(t, 0, P - 1, name="p")
    Y[b].store(A[p].load(ROW, width=4), width=4)
