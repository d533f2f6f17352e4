"""Normalization over the middle axis of X[A, K, C]: features of an image, with C = H * W. f32, bf16 or f16.

    rms   Y[a, k, c] = X[a, k, c] * rsqrt(sum(X[a, :, c]^2) / K + eps)
    l2    Y[a, k, c] = X[a, k, c] * rsqrt(sum(X[a, :, c]^2))
    l1    Y[a, k, c] = X[a, k, c] / (sum(abs(X[a, :, c])) / K)

A workgroup takes 256 neighbouring columns of one a; its four waves share K, and their sums meet in LDS. `axisnorm`
holds its columns in registers, K up to 4 * DEPTH: they are read once. `axisnorm_long` walks a longer K twice.
"""

import argus as ag
from argus import bf16, f16, f32

DTYPE = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of X and Y")
NORM = ag.knob("rms", legal=("rms", "l2", "l1"), why="which norm")
DEPTH = ag.knob(4, legal=(1, 2, 4, 8, 16, 32), why="rows of a wave per step, in flight together")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access; rows of C must be multiples of it")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
STEP = 4 * DEPTH
BYTES = min(WIDTH, 4 * SIZE)
TILE = ag.Owner(t=256, u=DEPTH, e=4, k=f"t//64*{DEPTH} + u", c="t%64*4 + e")
COLUMNS = ag.Owner(t=256, e=4, c="t%64*4 + e")
PARTS = ag.Layout(w=(4, 1024), c=(256, 4))
EACH = ag.Owner(t=256, i=4, e=4, w="i", c="t%64*4 + e")

NEEDS = f"A >= 1 and K >= 1 and C >= 1 and C % {max(1, WIDTH // SIZE)} == 0"
SQUARES = "sum(X[a, j, c] * X[a, j, c], j)"
MEANS = {
    "rms": f"Y[a, k, c] = X[a, k, c] * rsqrt({SQUARES} / K + eps)",
    "l2": f"Y[a, k, c] = X[a, k, c] * rsqrt({SQUARES})",
    "l1": "Y[a, k, c] = X[a, k, c] / (sum(abs(X[a, j, c]), j) / K)",
}[NORM]


def summed(x):
    """What a wave adds up of its part of the columns."""
    return (ag.abs(x) if NORM == "l1" else x * x).sum("k", within="wave")


def of_waves(sums):
    """The waves' sums, put together in LDS."""
    parts = ag.shared(PARTS, f32)
    parts.store(sums, w=ag.wave(), width=16)
    ag.barrier()
    return parts.load(EACH, width=16).sum("w")


def divided(x, total, K, eps):
    if NORM == "l1":
        return x / (total / f32(K))
    return x * ag.rsqrt(total / f32(K) + eps if NORM == "rms" else total)


@ag.kernel(threads=256, requires=f"{NEEDS} and K <= {STEP}", computes=MEANS, example=dict(A=3, K=min(STEP, 13), C=500))
def axisnorm(X: ag.In["A K C", T], Y: ag.Out["A K C", T], eps: f32):
    a, bc = ag.grid(A, ag.cdiv(C, 256))
    at = bc * 256
    x = X[a, 0, at].load(TILE, width=BYTES, guard="shape").to(f32)
    Y[a, 0, at].store(divided(x, of_waves(summed(x)), K, eps).to(T), width=BYTES, guard="shape")


@ag.kernel(threads=256, requires=NEEDS, computes=MEANS, example=dict(A=3, K=37, C=500))
def axisnorm_long(X: ag.In["A K C", T], Y: ag.Out["A K C", T], eps: f32):
    a, bc = ag.grid(A, ag.cdiv(C, 256))
    at = bc * 256
    sums = ag.zeros(COLUMNS, f32)
    for i in ag.range(ag.cdiv(K, STEP)):
        sums = sums + summed(X[a, i * STEP, at].load(TILE, width=BYTES, guard="shape").to(f32))
    total = of_waves(sums)
    for i in ag.range(ag.cdiv(K, STEP)):
        x = X[a, i * STEP, at].load(TILE, width=BYTES, guard="shape").to(f32)
        Y[a, i * STEP, at].store(divided(x, total, K, eps).to(T), width=BYTES, guard="shape")
