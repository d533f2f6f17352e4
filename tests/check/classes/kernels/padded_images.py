"""Images that begin one row and one column earlier: the guard must compare both with 0, or the row or image before is
touched. The workgroup's base has the image, and with it the channel; rows and columns are in the offset of a lane."""

import argus as ag
from argus import bf16, f32

CASE = ag.knob(0, legal=tuple(range(20)), why="which variant")
KIND = bf16 if CASE in (1, 12) else f32
BYTES = 2 if CASE in (1, 12) else 4
WALKED = CASE in (2, 11, 17)  # channels in a loop, which moves the base
PART = ag.Owner(t=64, h="t//16", w="t%16")
SHIFTED = CASE in (4, 14, 18, 19)  # stored one row and one column earlier, too


def tested(z, c, h, w, sizes):
    """The guard, by case."""
    channels, height, width = sizes
    ends = c < channels and h < height and w < width
    if CASE in (3, 4):
        return ends and w >= 0 and h >= 0
    if CASE == 5:
        return ends and h >= 0
    if CASE == 6:
        return ends and w >= 0
    if CASE == 7:
        return ends and h + 1 >= 0 and w >= 0
    if CASE == 8:
        return ends and (h >= 0 or w >= 0)
    if CASE == 9:
        return ends and h >= 1 and w >= 0
    if CASE in (10, 11):
        return ends and z >= 0 and h + w >= 0
    if CASE == 12:
        return ends and h >= 0 and w + 2 >= 0
    if CASE == 13:
        return ends and h >= 0 and w > -2
    if CASE == 14:
        return ends and h >= 0
    if CASE == 15:
        return ends and h * width + w >= 0
    if CASE == 16:
        return c < channels and h < height and h >= 0 and w >= 0
    if CASE == 17:
        return ends and h >= 0 and w >= -c
    return ends and w >= 0


@ag.kernel(
    threads=64,
    requires="C <= 64 and H <= 1024 and W <= 1024 and Z <= 64",
    computes="y[z, c, h, w] = x[z, c, h - 1, w - 1]",
    example=dict(Z=2, C=2, H=5, W=18),
)
def padded_images(x: ag.In["Z C H W", KIND], y: ag.Out["Z C H W", KIND]):
    z, bc, bh, bw = ag.grid(Z, 1 if WALKED else C, ag.cdiv(H + SHIFTED, 4), ag.cdiv(W + SHIFTED, 16))
    row, column = 4 * bh, 16 * bw
    guard = "shape" if CASE in (0, 1, 2, 19) else lambda h, w: tested(z, bc, row - 1 + h, column - 1 + w, (C, H, W))
    if WALKED:
        for k in ag.range(C):
            inner = "shape" if CASE == 2 else lambda h, w: tested(z, k, row - 1 + h, column - 1 + w, (C, H, W))
            part = x[z, k, row - 1, column - 1].load(PART, width=BYTES, guard=inner)
            y[z, k, row, column].store(part, width=BYTES, guard="shape")
    elif SHIFTED:
        part = x[z, bc, row - 2, column - 2].load(PART, width=BYTES, guard="shape")
        y[z, bc, row - 1, column - 1].store(part, width=BYTES, guard=guard)
    else:
        part = x[z, bc, row - 1, column - 1].load(PART, width=BYTES, guard=guard)
        y[z, bc, row, column].store(part, width=BYTES, guard="shape")
