"""The second launch of batch, group and instance normalization: statistics of channels put together, X normalized.

    batch      Y[b, c, s] = (X[b, c, s] - M[c]) * rsqrt(V[c] + eps) * W[c] + bias[c]         over images b
    group      Y[b, g, k, s] = (X[b, g, k, s] - M[b, g]) * rsqrt(V[b, g] + eps) * W[g, k] + bias[g, k]   over channels k
    whole      as group with all channels of an image, and W, bias for every element: layer normalization of an image
    inference  as batch, with stored M and V

`moments` has made mean and dev (sum of squared deviations) of every channel of every image; with n of them, S elements
each, M = sum(mean) / n and V = (sum(dev) + S * sum((mean - M)^2)) / (n * S). Instance normalization is `group` with
K = 1. Every workgroup puts the few numbers together itself (at most MOST), which saves a launch.

A workgroup takes a piece of one channel of one image, S = H * W elements long; its last piece is masked.
"""

import argus as ag
from argus import bf16, f16, f32

DTYPE = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of X and Y")
CHUNKS = ag.knob(4, legal=(1, 2, 4, 8), why="16-byte accesses of a thread")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access; S must be a multiple of it")
HELD = ag.knob(4, legal=(1, 4, 16), why="statistics a lane holds: at most 64 times as many are put together")
SHARE = ag.knob(4, legal=(1, 2, 4), why="images of a workgroup of `whole`, for which it fetches weights once")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
E = 16 // SIZE
SPAN = 256 * E * CHUNKS
MOST = 64 * HELD
PART = ag.Owner(p=CHUNKS, t=256, e=E, s=f"p*{256 * E} + t*{E} + e")
ONE = ag.Owner(t=256, z="t*0")
ALIGNED = f"S % {max(1, WIDTH // SIZE)} == 0"
IMAGES = ag.Owner(lane=64, h=HELD, b="h*64 + lane")
CHANNELS = ag.Owner(lane=64, h=HELD, k="h*64 + lane")


def stated(mean, dev, mean_j, count, j):
    """Mean and variance of `count` channels in index notation."""
    middle = f"sum({mean}, i) / {count}"
    other = f"sum({mean_j}, {j}) / {count}"
    off = f"({mean} - {other})"
    return middle, f"(sum({dev}, i) + S * sum({off} * {off}, i)) / ({count} * S)"


WM, WV = stated("mean[b, i]", "dev[b, i]", "mean[b, j]", "K", "j")
BM, BV = stated("mean[i, c]", "dev[i, c]", "mean[j, c]", "B", "j")
GM, GV = stated("mean[b, g, i]", "dev[b, g, i]", "mean[b, g, j]", "K", "j")


def together(means, devs, inside, n, S, axis):
    """Mean and variance of what n channels have, each of S elements."""
    middle = means.sum(axis) / f32(n)
    off = ag.where(inside, means - middle, 0.0)
    return middle, (devs.sum(axis) + f32(S) * (off * off).sum(axis)) / (f32(n) * f32(S))


def one(values):
    """The number at a place, in every thread."""
    return values.load(ONE, width=4).without()


@ag.kernel(
    threads=256,
    requires=f"B >= 1 and C >= 1 and S >= 1 and {ALIGNED} and B <= {MOST}",
    computes=f"Y[b, c, s] = (X[b, c, s] - {BM}) * rsqrt({BV} + eps) * W[c] + bias[c]",
    example=dict(B=5, C=3, S=1000),
)
def batch(
    X: ag.In["B C S", T],
    mean: ag.In["B C", f32],
    dev: ag.In["B C", f32],
    W: ag.In["C", f32],
    bias: ag.In["C", f32],
    Y: ag.Out["B C S", T],
    eps: f32,
):
    b, c, bs = ag.grid(B, C, ag.cdiv(S, SPAN))
    at = bs * SPAN
    means = mean[0, c].load(IMAGES, width=4, guard="shape")
    devs = dev[0, c].load(IMAGES, width=4, guard="shape")
    middle, variance = together(means, devs, means.b < B, B, S, "b")
    x = X[b, c, at].load(PART, width=WIDTH, guard="shape").to(f32)
    y = (x - middle) * ag.rsqrt(variance + eps) * one(W[c]) + one(bias[c])
    Y[b, c, at].store(y.to(T), width=WIDTH, guard="shape")


@ag.kernel(
    threads=256,
    requires=f"B >= 1 and G >= 1 and K >= 1 and S >= 1 and {ALIGNED} and K <= {MOST}",
    computes=f"Y[b, g, k, s] = (X[b, g, k, s] - {GM}) * rsqrt({GV} + eps) * W[g, k] + bias[g, k]",
    example=dict(B=2, G=3, K=4, S=1000),
)
def group(
    X: ag.In["B G K S", T],
    mean: ag.In["B G K", f32],
    dev: ag.In["B G K", f32],
    W: ag.In["G K", f32],
    bias: ag.In["G K", f32],
    Y: ag.Out["B G K S", T],
    eps: f32,
):
    b, g, k, bs = ag.grid(B, G, K, ag.cdiv(S, SPAN))
    at = bs * SPAN
    means = mean[b, g].load(CHANNELS, width=4, guard="shape")
    devs = dev[b, g].load(CHANNELS, width=4, guard="shape")
    middle, variance = together(means, devs, means.k < K, K, S, "k")
    x = X[b, g, k, at].load(PART, width=WIDTH, guard="shape").to(f32)
    y = (x - middle) * ag.rsqrt(variance + eps) * one(W[g, k]) + one(bias[g, k])
    Y[b, g, k, at].store(y.to(T), width=WIDTH, guard="shape")


@ag.kernel(
    threads=256,
    requires=f"B >= 1 and C >= 1 and S >= 1 and {ALIGNED}",
    computes="Y[b, c, s] = (X[b, c, s] - M[c]) * rsqrt(V[c] + eps) * W[c] + bias[c]",
    example=dict(B=5, C=3, S=1000),
)
def inference(
    X: ag.In["B C S", T],
    M: ag.In["C", f32],
    V: ag.In["C", f32],
    W: ag.In["C", f32],
    bias: ag.In["C", f32],
    Y: ag.Out["B C S", T],
    eps: f32,
):
    b, c, bs = ag.grid(B, C, ag.cdiv(S, SPAN))
    at = bs * SPAN
    x = X[b, c, at].load(PART, width=WIDTH, guard="shape").to(f32)
    y = (x - one(M[c])) * ag.rsqrt(one(V[c]) + eps) * one(W[c]) + one(bias[c])
    Y[b, c, at].store(y.to(T), width=WIDTH, guard="shape")


@ag.kernel(
    threads=256,
    requires=f"B >= 1 and K >= 1 and S >= 1 and {ALIGNED} and K <= {MOST}",
    computes=f"Y[b, k, s] = (X[b, k, s] - {WM}) * rsqrt({WV} + eps) * W[k, s] + bias[k, s]",
    example=dict(B=2, K=4, S=1000),
)
def whole(
    X: ag.In["B K S", T],
    mean: ag.In["B K", f32],
    dev: ag.In["B K", f32],
    W: ag.In["K S", f32],
    bias: ag.In["K S", f32],
    Y: ag.Out["B K S", T],
    eps: f32,
):
    k, bs, bb = ag.grid(K, ag.cdiv(S, SPAN), ag.cdiv(B, SHARE))  # neighbors use the same weights
    at = bs * SPAN
    wide = min(16, WIDTH * 4 // SIZE)
    w = W[k, at].load(PART, width=wide, guard="shape")
    shift = bias[k, at].load(PART, width=wide, guard="shape")
    for i in range(SHARE):
        b = bb * SHARE + i
        means = mean[b].load(CHANNELS, width=4, guard="shape")
        devs = dev[b].load(CHANNELS, width=4, guard="shape")
        middle, variance = together(means, devs, means.k < K, K, S, "k")
        x = X[b, k, at].load(PART, width=WIDTH, guard="shape").to(f32)
        y = (x - middle) * ag.rsqrt(variance + eps) * w + shift
        Y[b, k, at].store(y.to(T), width=WIDTH, guard="shape")
