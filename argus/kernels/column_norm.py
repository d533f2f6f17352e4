"""Batch normalization of a matrix: statistics of columns in f32, and columns normalized, with a chain after it.

    column_moments    mean[a, c] = sum(X[a, k, c], k) / K;   dev[a, c] = sum((X[a, k, c] - mean[a, c])^2, k)
    column_joined     M[c], D[c]: mean and variance of P pieces of `length` rows each, of their means and devs
    column_norm       Y[b, c] = chain((X[b, c] - M[c]) * rsqrt(D[c] + eps) * weight[c] + shift[c])

Statistics stay in f32, whatever the type of X: a mean that is rounded to bf16 moves every element of its column.
Deviations are taken from the mean of their own piece, so that nothing cancels. A piece is walked twice, the second time
out of the caches.

Tiles, waves and parts of the first two are those of `argus.kernels.reduce_axis`: a workgroup has 256 columns of a
piece. A workgroup of `column_norm` has ROWS rows of 1024 columns, whose statistics it fetches once. HAS_U says which
axes an operand of the chain has: `c` one number per column, `b` one per row, `bc` all, `one` a single number.
"""

import argus as ag
from argus import f32
from argus.kernels.chain import after, told
from argus.kernels.reduce_axis import COLUMNS, EACH, PARTS, SHARE, SIZE, STEP, TILE, WAVES, WIDTH, T

HAS_U = ag.knob("none", legal=("none", "one", "c", "b", "bc"), why="the axes of U")
HAS_V = ag.knob("none", legal=("none", "one", "c", "b", "bc"), why="the axes of V")
HAS_W = ag.knob("none", legal=("none", "one", "c", "b", "bc"), why="the axes of W")
ROWS = ag.knob(8, legal=(1, 2, 4, 8, 16), why="rows of a workgroup of `column_norm`")

BYTES = min(WIDTH, 4 * SIZE)
WIDE = BYTES // SIZE * 4  # the same elements in f32
ALL = ag.Owner(t=64 * WAVES, i=WAVES, e=4, w="i", c="t%64*4 + e")
ALIGNED = f"C % {BYTES // SIZE} == 0"
MEAN = "sum(X[a, j, c], j) / K"
MOMENTS = f"mean[a, c] = {MEAN}; dev[a, c] = sum((X[a, k, c] - {MEAN}) * (X[a, k, c] - {MEAN}), k)"
MIDDLE = "sum(means[j, c], j) / P"
OFF = f"(means[k, c] - {MIDDLE})"
JOINED = f"M[c] = {MIDDLE}; D[c] = (sum(devs[i, c], i) + length * sum({OFF} * {OFF}, k)) / (P * length)"


@ag.kernel(
    threads=64 * WAVES,
    requires=f"A >= 1 and K >= 1 and C >= 1 and {ALIGNED}",
    computes=MOMENTS,
    example=dict(A=3, K=37, C=500),
)
def column_moments(X: ag.In["A K C", T], mean: ag.Out["A C", f32], dev: ag.Out["A C", f32]):
    a, bc = ag.grid(A, ag.cdiv(C, 256))
    at = bc * 256
    sums, squares = ag.zeros(COLUMNS, f32), ag.zeros(COLUMNS, f32)
    for i in ag.range(ag.cdiv(K, STEP)):
        sums = sums + X[a, i * STEP, at].load(TILE, width=BYTES, guard="shape").to(f32).sum("k", within="wave")
    parts, others = ag.shared(PARTS, f32), ag.shared(PARTS, f32)
    parts.store(sums, w=ag.wave(), width=16)
    ag.barrier()
    middle = parts.load(ALL, width=16).sum("w", within="wave") / f32(K)
    for i in ag.range(ag.cdiv(K, STEP)):
        x = X[a, i * STEP, at].load(TILE, width=BYTES, guard="shape").to(f32)
        off = ag.where(i * STEP + x.k < K, x - middle, 0.0)
        squares = squares + (off * off).sum("k", within="wave")
    others.store(squares, w=ag.wave(), width=16)
    ag.barrier()
    mean[a, at].store(parts.load(EACH, width=4 * SHARE).sum("w", within="wave") / f32(K), width=4, guard="shape")
    dev[a, at].store(others.load(EACH, width=4 * SHARE).sum("w", within="wave"), width=4, guard="shape")


@ag.kernel(threads=64 * WAVES, requires=f"P >= 1 and C >= 1 and {ALIGNED}", computes=JOINED, example=dict(P=37, C=500))
def column_joined(
    means: ag.In["P C", f32], devs: ag.In["P C", f32], M: ag.Out["C", f32], D: ag.Out["C", f32], length: f32
):
    at = 256 * ag.grid(ag.cdiv(C, 256))
    sums, squares, spread = ag.zeros(COLUMNS, f32), ag.zeros(COLUMNS, f32), ag.zeros(COLUMNS, f32)
    for i in ag.range(ag.cdiv(P, STEP)):
        sums = sums + means[i * STEP, at].load(TILE, width=WIDE, guard="shape").sum("k", within="wave")
        spread = spread + devs[i * STEP, at].load(TILE, width=WIDE, guard="shape").sum("k", within="wave")
    parts, others, within = ag.shared(PARTS, f32), ag.shared(PARTS, f32), ag.shared(PARTS, f32)
    parts.store(sums, w=ag.wave(), width=16)
    within.store(spread, w=ag.wave(), width=16)
    ag.barrier()
    middle = parts.load(ALL, width=16).sum("w", within="wave") / f32(P)
    for i in ag.range(ag.cdiv(P, STEP)):
        x = means[i * STEP, at].load(TILE, width=WIDE, guard="shape")
        off = ag.where(i * STEP + x.k < P, x - middle, 0.0)
        squares = squares + (off * off).sum("k", within="wave")
    others.store(squares, w=ag.wave(), width=16)
    ag.barrier()
    between = others.load(EACH, width=4 * SHARE).sum("w", within="wave")
    total = within.load(EACH, width=4 * SHARE).sum("w", within="wave") + length * between
    M[at].store(parts.load(EACH, width=4 * SHARE).sum("w", within="wave") / f32(P), width=4, guard="shape")
    D[at].store(total / (f32(P) * length), width=4, guard="shape")


AXES = {"none": "one=1", "one": "one=1", "c": "C", "b": "B", "bc": "B C"}
AT = {"none": "[0]", "one": "[0]", "c": "[c]", "b": "[b]", "bc": "[b, c]"}
NORMAL = "(X[b, c] - M[c]) * rsqrt(D[c] + eps) * weight[c] + shift[c]"
PART = ag.Owner(t=256, r=ROWS, e=4, b="r", c="t*4 + e")
ACROSS = ag.Owner(t=256, e=4, c="t*4 + e")
DOWN = ag.Owner(t=256, r=ROWS, b="r + t*0")
ONE = ag.Owner(t=256, z="t*0")


@ag.kernel(
    threads=256,
    requires=f"B >= 1 and C >= 1 and {ALIGNED}",
    computes="Y[b, c] = " + told(NORMAL, {"U": f"U{AT[HAS_U]}", "V": f"V{AT[HAS_V]}", "W": f"W{AT[HAS_W]}"}),
    example=dict(B=20, C=1500),
)
def column_norm(
    X: ag.In["B C", T],
    M: ag.In["C", f32],
    D: ag.In["C", f32],
    weight: ag.In["C", T],
    shift: ag.In["C", T],
    U: ag.In[AXES[HAS_U], T],
    V: ag.In[AXES[HAS_V], T],
    W: ag.In[AXES[HAS_W], T],
    Y: ag.Out["B C", T],
    eps: f32,
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    bb, bc = ag.grid(ag.cdiv(B, ROWS), ag.cdiv(C, 1024))
    b, at = bb * ROWS, bc * 1024

    def operand(values, kind):
        return {
            "none": lambda: 0.0,
            "one": lambda: values[0].load(ONE, width=SIZE).without().to(f32),
            "c": lambda: values[at].load(ACROSS, width=BYTES, guard="shape").to(f32),
            "b": lambda: values[b].load(DOWN, width=SIZE, guard="shape").to(f32),
            "bc": lambda: values[b, at].load(PART, width=BYTES, guard="shape").to(f32),
        }[kind]()

    middle, variance = M[at].load(ACROSS, width=WIDE, guard="shape"), D[at].load(ACROSS, width=WIDE, guard="shape")
    factor, more = operand(weight, "c"), operand(shift, "c")
    x = X[b, at].load(PART, width=BYTES, guard="shape").to(f32)
    y = (x - middle) * ag.rsqrt(variance + eps) * factor + more
    given = {"U": operand(U, HAS_U), "V": operand(V, HAS_V), "W": operand(W, HAS_W)}
    Y[b, at].store(after(y, given, [p0, p1, p2, p3, p4, p5, p6, p7]).to(T), width=BYTES, guard="shape")
