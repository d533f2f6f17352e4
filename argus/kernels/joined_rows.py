"""Statistics of rows from those of their parts: the launch after `gemm_f32_rows`.

    sums_joined       total[m] = sum(S[m, :]), squares[m] = sum(Q[m, :])
    moments_joined    mean[m] = sum(S[m, :]) / N, dev[m] = sum(D[m, :]) + sum(count * (S[m, :] / count - mean[m])^2)
    softmax_joined    top[m] = max(H[m, :]), total[m] = sum(E[m, :] * exp(H[m, :] - top[m]))

Row m has P parts, of which part i has count[i] columns; N = sum(count). A wave takes a row. Then `normalize.whole` with
one channel (K = 1) is a layer norm, and `fused_map` with "sub_U", "exp", "div_V" the softmax.
"""

import argus as ag
from argus import LOG2E, f32, inf

HELD = ag.knob(1, legal=(1, 4, 16), why="parts a lane holds: a row has at most 64 times as many")

PARTS = ag.Owner(lane=64, h=HELD, p="h*64 + lane")
NEEDS = f"M >= 1 and P >= 1 and P <= {64 * HELD}"
EXAMPLE = dict(M=6, P=40)
TOP = "max(H[m, j], j)"
MEAN = "sum(S[m, j], j) / sum(count[j], j)"
OFF = f"(S[m, i] / count[i] - {MEAN})"


def row(M):
    """This wave's row."""
    return 4 * ag.grid(ag.cdiv(M, 4)) + ag.wave()


def parts(X, m):
    """All of a row's parts, zeros behind them."""
    return X[m].load(PARTS, width=4, guard="shape")


@ag.kernel(
    threads=256,
    requires=NEEDS,
    computes="total[m] = sum(S[m, i], i); squares[m] = sum(Q[m, i], i)",
    example=EXAMPLE,
)
def sums_joined(S: ag.In["M P", f32], Q: ag.In["M P", f32], total: ag.Out["M", f32], squares: ag.Out["M", f32]):
    m = row(M)
    total[m].store(parts(S, m).sum("p"), width=4, guard=ag.lane() == 0)
    squares[m].store(parts(Q, m).sum("p"), width=4, guard=ag.lane() == 0)


@ag.kernel(
    threads=256,
    requires=NEEDS,
    computes=f"mean[m] = {MEAN}; dev[m] = sum(D[m, i], i) + sum(count[i] * {OFF} * {OFF}, i)",
    example=EXAMPLE,
)
def moments_joined(
    S: ag.In["M P", f32],
    D: ag.In["M P", f32],
    count: ag.In["P", f32],
    mean: ag.Out["M", f32],
    dev: ag.Out["M", f32],
):
    m = row(M)
    sums, columns = parts(S, m), count.load(PARTS, width=4, guard="shape")
    middle = sums.sum("p") / columns.sum("p")
    off = sums / columns - middle
    between = ag.where(sums.p < P, columns * off * off, 0.0)
    mean[m].store(middle, width=4, guard=ag.lane() == 0)
    dev[m].store(parts(D, m).sum("p") + between.sum("p"), width=4, guard=ag.lane() == 0)


@ag.kernel(
    threads=256,
    requires=NEEDS,
    computes=f"top[m] = {TOP}; total[m] = sum(E[m, i] * exp(H[m, i] - {TOP}), i)",
    example=EXAMPLE,
)
def softmax_joined(H: ag.In["M P", f32], E: ag.In["M P", f32], top: ag.Out["M", f32], total: ag.Out["M", f32]):
    m = row(M)
    highs = parts(H, m)
    high = ag.where(highs.p < P, highs, -inf)
    highest = high.max("p")
    weights = parts(E, m) * ag.exp2((high - highest) * LOG2E)
    top[m].store(highest, width=4, guard=ag.lane() == 0)
    total[m].store(weights.sum("p"), width=4, guard=ag.lane() == 0)
