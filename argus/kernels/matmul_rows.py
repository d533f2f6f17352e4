"""The product of `matmul_chain` (bf16 or f16) that also writes statistics of its result's rows, as `gemm_f32_rows`.

    matmul_sums       S[m, t], Q[m, t]: sum and sum of squares of a wave's columns of row m
    matmul_moments    S[m, t], D[m, t]: sum, and sum of squared deviations from the mean of these count[t] columns
    matmul_softmax    H[m, t], E[m, t]: maximum, and sum of exp(C[m, n] - H[m, t])

Statistics are f32 and of the result before it is rounded to its type. `joined_rows` makes one number per row of them.
"""

import argus as ag
from argus import LOG2E, f32
from argus.kernels.matmul import (
    ACC,
    BM,
    BN,
    INST,
    NEEDS,
    ROWS_A,
    ROWS_B,
    THREADS,
    TM,
    TN,
    WM,
    WN,
    T,
    place,
    product,
    spans,
)
from argus.kernels.matmul_chain import AXES, BYTES, HAS_U, HAS_V, HAS_W, ONE, RESULT, chained, operand, result
from argus.kernels.row_parts import added, highest, stated

SPAN = INST * TN  # columns of a wave
assert SPAN >= 64, "a wave has at least 64 columns: what is stored per tile stays small beside C"
STATED = f"{NEEDS} and P == (N + {SPAN - 1}) // {SPAN}"
EXAMPLE = dict(M=256, N=256, K=256, P=(255 + SPAN) // SPAN)
MEANS = stated(result, SPAN)


def row_of_tiles(acc, tensors, fetched, i, m, n0, parameters):
    """The tiles of INST rows of a wave, finished."""
    return [chained(acc[i, j], tensors, fetched, i, j, m, n0 + INST * j, parameters) for j in range(TN)]


def kept(C, tiles, m, n0):
    """Their elements to memory."""
    for j in ag.unroll(TN):
        C[m, n0 + INST * j].store(tiles[j].to(T), width=BYTES, guard="shape")


@ag.kernel(
    threads=THREADS,
    waves=(WM, WN),
    requires=STATED,
    computes=f"C[m, n] = {RESULT}; S[m, t] = {MEANS['sum']}; Q[m, t] = {MEANS['squares']}",
    example=EXAMPLE,
)
def matmul_sums(
    A: ag.In[ROWS_A, T],
    B: ag.In[ROWS_B, T],
    U: ag.In[AXES[HAS_U], T],
    V: ag.In[AXES[HAS_V], T],
    W: ag.In[AXES[HAS_W], T],
    C: ag.Out["M N", T],
    S: ag.Out["M P", f32],
    Q: ag.Out["M P", f32],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    bm, bn = place(M, N)
    wm, wn = ag.wave()
    acc = product(A, B, bm, bn, spans(bm, bn, K))
    m0, n0, t = bm * BM + INST * TM * wm, bn * BN + SPAN * wn, bn * WN + wn
    fetched = [operand(U, HAS_U, m0, n0), operand(V, HAS_V, m0, n0), operand(W, HAS_W, m0, n0)]
    for i in ag.unroll(TM):
        m = m0 + INST * i
        tiles = row_of_tiles(acc, [U, V, W], fetched, i, m, n0, [p0, p1, p2, p3, p4, p5, p6, p7])
        kept(C, tiles, m, n0)
        S[m, t].store(added(tiles, ACC, INST, n0, N, lambda x: x), width=4, guard="shape")
        Q[m, t].store(added(tiles, ACC, INST, n0, N, lambda x: x * x), width=4, guard="shape")


@ag.kernel(
    threads=THREADS,
    waves=(WM, WN),
    requires=STATED,
    computes=f"C[m, n] = {RESULT}; S[m, t] = {MEANS['sum']}; D[m, t] = {MEANS['deviations']}",
    example=EXAMPLE,
)
def matmul_moments(
    A: ag.In[ROWS_A, T],
    B: ag.In[ROWS_B, T],
    U: ag.In[AXES[HAS_U], T],
    V: ag.In[AXES[HAS_V], T],
    W: ag.In[AXES[HAS_W], T],
    count: ag.In["P", f32],
    C: ag.Out["M N", T],
    S: ag.Out["M P", f32],
    D: ag.Out["M P", f32],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    bm, bn = place(M, N)
    wm, wn = ag.wave()
    acc = product(A, B, bm, bn, spans(bm, bn, K))
    m0, n0, t = bm * BM + INST * TM * wm, bn * BN + SPAN * wn, bn * WN + wn
    fetched = [operand(U, HAS_U, m0, n0), operand(V, HAS_V, m0, n0), operand(W, HAS_W, m0, n0)]
    columns = count[t].load(ONE, width=4, guard="shape").without()
    for i in ag.unroll(TM):
        m = m0 + INST * i
        tiles = row_of_tiles(acc, [U, V, W], fetched, i, m, n0, [p0, p1, p2, p3, p4, p5, p6, p7])
        kept(C, tiles, m, n0)
        sums = added(tiles, ACC, INST, n0, N, lambda x: x)
        middle = sums / columns
        S[m, t].store(sums, width=4, guard="shape")
        D[m, t].store(added(tiles, ACC, INST, n0, N, lambda x: (x - middle) * (x - middle)), width=4, guard="shape")


@ag.kernel(
    threads=THREADS,
    waves=(WM, WN),
    requires=STATED,
    computes=f"C[m, n] = {RESULT}; H[m, t] = {MEANS['max']}; E[m, t] = {MEANS['weights']}",
    example=EXAMPLE,
)
def matmul_softmax(
    A: ag.In[ROWS_A, T],
    B: ag.In[ROWS_B, T],
    U: ag.In[AXES[HAS_U], T],
    V: ag.In[AXES[HAS_V], T],
    W: ag.In[AXES[HAS_W], T],
    C: ag.Out["M N", T],
    H: ag.Out["M P", f32],
    E: ag.Out["M P", f32],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    bm, bn = place(M, N)
    wm, wn = ag.wave()
    acc = product(A, B, bm, bn, spans(bm, bn, K))
    m0, n0, t = bm * BM + INST * TM * wm, bn * BN + SPAN * wn, bn * WN + wn
    fetched = [operand(U, HAS_U, m0, n0), operand(V, HAS_V, m0, n0), operand(W, HAS_W, m0, n0)]
    for i in ag.unroll(TM):
        m = m0 + INST * i
        tiles = row_of_tiles(acc, [U, V, W], fetched, i, m, n0, [p0, p1, p2, p3, p4, p5, p6, p7])
        kept(C, tiles, m, n0)
        top = highest(tiles, ACC, INST, n0, N)
        H[m, t].store(top, width=4, guard="shape")
        E[m, t].store(added(tiles, ACC, INST, n0, N, lambda x: ag.exp2((x - top) * LOG2E)), width=4, guard="shape")
