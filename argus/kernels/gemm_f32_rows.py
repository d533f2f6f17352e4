"""The f32 product of `gemm_f32` that also writes statistics of its result's rows, for the norm or softmax after it.

    product_sums       S[z, m, t] the sum, Q[z, m, t] the sum of squares of C[z, m, n], SPAN * t <= n < SPAN * (t + 1)
    product_moments    S as above, D[z, m, t] the sum of squared deviations from the mean of these columns, which are
                       count[t] of them: SPAN, fewer in the last tile
    product_softmax    H[z, m, t] the maximum, E[z, m, t] the sum of exp(C[z, m, n] - H[z, m, t])

A tile of columns is what a wave holds, SPAN = BN / WN of them; the last one of a row may be shorter. P is their number.
They are statistics of the result after its chain, taken from registers: C is not read again. `joined_rows` makes
one number per row of them. Nothing is added up by atomics, so results are the same in every run.

Sums and squares are enough for an RMS norm; the variance as their difference cancels, so layer and group norms take
deviations, which are right whatever the mean is.
"""

import argus as ag
from argus import LOG2E, f32
from argus.kernels.gemm_f32 import (
    ACC,
    AXES,
    BM,
    BN,
    HAS_U,
    HAS_V,
    HAS_W,
    NEEDS,
    ONE,
    RESULT,
    ROWS_A,
    ROWS_B,
    THREADS,
    TM,
    TN,
    WIDTH,
    WM,
    WN,
    chained,
    operand,
    product,
    result,
)
from argus.kernels.row_parts import added, highest, stated

assert TN >= 2, "a wave has at least 64 columns: what is stored per tile stays small beside C"
SPAN = 32 * TN  # columns of a wave
STATED = f"{NEEDS} and P == (N + {SPAN - 1}) // {SPAN}"
EXAMPLE = dict(Z=2, M=200, N=136, K=72, P=(135 + SPAN) // SPAN)
MEANS = stated(result, SPAN)


def row_of_tiles(acc, tensors, fetched, i, z, m, n0, parameters):
    """The tiles of 32 rows of a wave, finished."""
    return [chained(acc[i, j], tensors, fetched, i, j, z, m, n0 + 32 * j, parameters) for j in range(TN)]


def kept(C, tiles, z, m, n0):
    """Their elements to memory."""
    for j in ag.unroll(TN):
        C[z, m, n0 + 32 * j].store(tiles[j], width=WIDTH, guard="shape")


@ag.kernel(
    threads=THREADS,
    waves=(WM, WN),
    requires=STATED,
    computes=f"C[z, m, n] = {RESULT}; S[z, m, t] = {MEANS['sum']}; Q[z, m, t] = {MEANS['squares']}",
    example=EXAMPLE,
)
def product_sums(
    A: ag.In[ROWS_A, f32],
    B: ag.In[ROWS_B, f32],
    U: ag.In[AXES[HAS_U], f32],
    V: ag.In[AXES[HAS_V], f32],
    W: ag.In[AXES[HAS_W], f32],
    C: ag.Out["Z M N", f32],
    S: ag.Out["Z M P", f32],
    Q: ag.Out["Z M P", f32],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    z, bm, bn = ag.grid(Z, ag.cdiv(M, BM), ag.cdiv(N, BN))
    wm, wn = ag.wave()
    acc = product(A, B, z, bm, bn, K)
    m0, n0, t = bm * BM + 32 * TM * wm, bn * BN + SPAN * wn, bn * WN + wn
    fetched = [operand(U, HAS_U, m0, n0), operand(V, HAS_V, m0, n0), operand(W, HAS_W, m0, n0)]
    for i in ag.unroll(TM):
        m = m0 + 32 * i
        tiles = row_of_tiles(acc, [U, V, W], fetched, i, z, m, n0, [p0, p1, p2, p3, p4, p5, p6, p7])
        kept(C, tiles, z, m, n0)
        S[z, m, t].store(added(tiles, ACC, 32, n0, N, lambda x: x), width=4, guard="shape")
        Q[z, m, t].store(added(tiles, ACC, 32, n0, N, lambda x: x * x), width=4, guard="shape")


@ag.kernel(
    threads=THREADS,
    waves=(WM, WN),
    requires=STATED,
    computes=f"C[z, m, n] = {RESULT}; S[z, m, t] = {MEANS['sum']}; D[z, m, t] = {MEANS['deviations']}",
    example=EXAMPLE,
)
def product_moments(
    A: ag.In[ROWS_A, f32],
    B: ag.In[ROWS_B, f32],
    U: ag.In[AXES[HAS_U], f32],
    V: ag.In[AXES[HAS_V], f32],
    W: ag.In[AXES[HAS_W], f32],
    count: ag.In["P", f32],
    C: ag.Out["Z M N", f32],
    S: ag.Out["Z M P", f32],
    D: ag.Out["Z M P", f32],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    z, bm, bn = ag.grid(Z, ag.cdiv(M, BM), ag.cdiv(N, BN))
    wm, wn = ag.wave()
    acc = product(A, B, z, bm, bn, K)
    m0, n0, t = bm * BM + 32 * TM * wm, bn * BN + SPAN * wn, bn * WN + wn
    fetched = [operand(U, HAS_U, m0, n0), operand(V, HAS_V, m0, n0), operand(W, HAS_W, m0, n0)]
    columns = count[t].load(ONE, width=4, guard="shape").without()
    for i in ag.unroll(TM):
        m = m0 + 32 * i
        tiles = row_of_tiles(acc, [U, V, W], fetched, i, z, m, n0, [p0, p1, p2, p3, p4, p5, p6, p7])
        kept(C, tiles, z, m, n0)
        sums = added(tiles, ACC, 32, n0, N, lambda x: x)
        middle = sums / columns
        S[z, m, t].store(sums, width=4, guard="shape")
        D[z, m, t].store(added(tiles, ACC, 32, n0, N, lambda x: (x - middle) * (x - middle)), width=4, guard="shape")


@ag.kernel(
    threads=THREADS,
    waves=(WM, WN),
    requires=STATED,
    computes=f"C[z, m, n] = {RESULT}; H[z, m, t] = {MEANS['max']}; E[z, m, t] = {MEANS['weights']}",
    example=EXAMPLE,
)
def product_softmax(
    A: ag.In[ROWS_A, f32],
    B: ag.In[ROWS_B, f32],
    U: ag.In[AXES[HAS_U], f32],
    V: ag.In[AXES[HAS_V], f32],
    W: ag.In[AXES[HAS_W], f32],
    C: ag.Out["Z M N", f32],
    H: ag.Out["Z M P", f32],
    E: ag.Out["Z M P", f32],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    z, bm, bn = ag.grid(Z, ag.cdiv(M, BM), ag.cdiv(N, BN))
    wm, wn = ag.wave()
    acc = product(A, B, z, bm, bn, K)
    m0, n0, t = bm * BM + 32 * TM * wm, bn * BN + SPAN * wn, bn * WN + wn
    fetched = [operand(U, HAS_U, m0, n0), operand(V, HAS_V, m0, n0), operand(W, HAS_W, m0, n0)]
    for i in ag.unroll(TM):
        m = m0 + 32 * i
        tiles = row_of_tiles(acc, [U, V, W], fetched, i, z, m, n0, [p0, p1, p2, p3, p4, p5, p6, p7])
        kept(C, tiles, z, m, n0)
        top = highest(tiles, ACC, 32, n0, N)
        H[z, m, t].store(top, width=4, guard="shape")
        E[z, m, t].store(added(tiles, ACC, 32, n0, N, lambda x: ag.exp2((x - top) * LOG2E)), width=4, guard="shape")
