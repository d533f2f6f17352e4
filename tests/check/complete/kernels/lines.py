"""A convolution of lines whose taps, stride, dilation and padding may be others than its specification says."""

import argus as ag
from argus import f32

R = ag.knob(3, legal=(1, 2, 3, 4), why="taps that are specified")
S = ag.knob(1, legal=(1, 2, 3, 4), why="stride that is specified")
D = ag.knob(1, legal=(1, 2, 3), why="dilation that is specified")
P = ag.knob(1, legal=(0, 1, 2, 3), why="padding that is specified")
R2 = ag.knob(3, legal=(1, 2, 3, 4), why="taps that are computed")
S2 = ag.knob(1, legal=(1, 2, 3, 4), why="stride that is computed")
D2 = ag.knob(1, legal=(1, 2, 3), why="dilation that is computed")
P2 = ag.knob(1, legal=(0, 1, 2, 3), why="padding that is computed")
FORM = ag.knob(0, legal=(0, 1, 2), why="straight from x, through LDS, or the sum the other way around")

ONE = ag.Owner(t=256, q="t")
STEP = ag.Owner(t=256, l=f"{S2}*t")
WIDE = 255 * S2 + D2 * (R2 - 1) + 1
PASS = (WIDE + 255) // 256
FILL = ag.Owner(i=PASS, t=256, l="i*256 + t")
LINE = ag.Layout(l=(PASS * 256, 4))


@ag.kernel(
    threads=256,
    requires="N >= 1 and L >= 1 and Q >= 1 and Q <= 1000000",
    computes=f"y[n, q] = sum(x[n, {S} * q + {D} * r - {P}] * w[r], r, {R})",
    example=dict(N=2, L=1000, Q=1000),
)
def lines(x: ag.In["N L", f32], w: ag.In["TAPS=4", f32], y: ag.Out["N Q", f32]):
    n, b = ag.grid(N, ag.cdiv(Q, 256))
    total = ag.zeros(ONE, f32)
    line = ag.shared(LINE, f32)
    if FORM == 1:
        line.store(x[n, S2 * 256 * b - P2].load(FILL, width=4, guard="shape"), width=4)
        ag.barrier()
    for r in range(R2):
        if FORM == 1:
            v = line.load(STEP, l=D2 * r, width=4).held_as(ONE)
        else:
            v = x[n, S2 * 256 * b + D2 * r - P2].load(STEP, width=4, guard="shape").held_as(ONE)
        part = v * w[r].load(ag.Owner(t=256, r="t*0"), width=4).without()
        total = part + total if FORM == 2 else total + part
    y[n, 256 * b].store(total, width=4, guard="shape")
