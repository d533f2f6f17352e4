"""Rotary embedding on neighbouring pairs: (x0, x1) -> (x0 cos - x1 sin, x0 sin + x1 cos), angles by v_sin and v_cos."""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import v_cos_f32, v_sin_f32

PAIRS = ag.Owner(t=256, i=4, z=2, s="t//16", d="t%16*8 + i*2 + z")
HALF = ag.Owner(t=256, i=4, s="t//16", j="t%16*4 + i")


@ag.kernel(threads=256, requires="S % 16 == 0", example=dict(B=2, S=32))
def rotary(X: ag.In["B S D=128", bf16], turns: ag.In["S J=64", f32], Y: ag.Out["B S D=128", bf16]):
    b, bs = ag.grid(B, S // 16)
    x = X[b, bs * 16].load(PAIRS, width=16).to(f32).order("z", "i")
    angle = turns[bs * 16].load(HALF, width=16)  # in turns: the instructions take fractions of a full circle
    c, s = v_cos_f32(angle).without(), v_sin_f32(angle).without()
    low, high = x[0].without(), x[1].without()
    y = ag.stack([low * c - high * s, low * s + high * c], "z")
    Y[b, bs * 16].store(y.order("i", "z").held_as(PAIRS).to(bf16), width=16)
