"""Depthwise 3x3 convolution, channels last, zero padding: a thread computes 4 neighbouring channels of one pixel."""

import argus as ag
from argus import f32

PIXELS = ag.Owner(t=256, e=4, w="t//16", c="t%16*4 + e")
TAPS = ag.Owner(t=256, e=4, c="t%16*4 + e")


@ag.kernel(threads=256, requires="W % 16 == 0 and C % 64 == 0", example=dict(B=1, H=8, W=16, C=64))
def depthwise(X: ag.In["B H W C", f32], K: ag.In["kh=3 kw=3 C", f32], Y: ag.Out["B H W C", f32]):
    b, h, bw, bc = ag.grid(B, H, W // 16, C // 64)
    acc = ag.zeros(PIXELS, f32)
    for dy, dx in ag.unroll(3, 3):
        y, x0 = h + dy - 1, bw * 16 + dx - 1

        def inside(w, c):
            return y >= 0 and y < H and x0 + w >= 0 and x0 + w < W

        pixel = X[b, y, x0, bc * 64].load(PIXELS, width=16, guard=inside)
        tap = K[dy, dx, bc * 64].load(TAPS, width=16)
        acc = ag.fma(pixel, tap, acc)
    Y[b, h, bw * 16, bc * 64].store(acc, width=16)
