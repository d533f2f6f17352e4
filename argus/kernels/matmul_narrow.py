"""The matrix product of `matmul.py` for results whose rows are narrow: N is no multiple of four elements.

    C[m, n] with N = 50257 and K = 768       loads of 16 bytes, as the rows of A and B allow, stores of 2

`matmul` has one width for loads and stores, so that such an N would have it load two bytes at a time. Here STORE is the
width of the stores of C and of the loads of the bias, and WIDTH that of the loads of A and B.

What it cannot do: B stored by k, whose rows are as long as those of C.
"""

import argus as ag
from argus import f32
from argus.kernels.matmul import (
    A_T,
    ACC,
    B_T,
    BK,
    BM,
    BN,
    EXAMPLE,
    INST,
    KTAIL,
    LEAST,
    MEANS,
    ROWS_A,
    ROWS_B,
    STAGGER,
    SUM,
    T_OUT,
    THREADS,
    TM,
    TN,
    WM,
    WN,
    T,
    activated,
    place,
    product,
    spans,
)

STORE = ag.knob(4, legal=(2, 4), why="bytes per store of C, of which its rows are multiples")

assert not B_T, "rows of B stored by k are as long as those of C: matmul loads them no wider"

NEEDS = (
    f"M >= 1 and N >= 1 and K >= {1 if STAGGER == 0 else 2 * BK} and N % {STORE // 2} == 0"
    + f" and K % {LEAST if KTAIL else BK} == 0"
    + (f" and M % {LEAST} == 0" if A_T else "")
)


@ag.kernel(threads=THREADS, waves=(WM, WN), requires=NEEDS, computes=f"C[m, n] = {SUM}", example=EXAMPLE)
def matmul_narrow(A: ag.In[ROWS_A, T], B: ag.In[ROWS_B, T], C: ag.Out["M N", T_OUT]):
    bm, bn = place(M, N)
    wm, wn = ag.wave()
    acc = product(A, B, bm, bn, spans(bm, bn, K))
    row, column = bm * BM + INST * TM * wm, bn * BN + INST * TN * wn
    for j, i in ag.unroll(TN, TM):
        C[row, column].store(acc[i, j].to(T_OUT), width=STORE, guard="shape")


@ag.kernel(threads=THREADS, waves=(WM, WN), requires=NEEDS, computes=MEANS, example=EXAMPLE)
def linear_narrow(A: ag.In[ROWS_A, T], B: ag.In[ROWS_B, T], bias: ag.In["N", T_OUT], C: ag.Out["M N", T_OUT]):
    bm, bn = place(M, N)
    wm, wn = ag.wave()
    acc = product(A, B, bm, bn, spans(bm, bn, K))
    row, column = bm * BM + INST * TM * wm, bn * BN + INST * TN * wn
    shift = bias[column].load(ACC.per("n"), tiles=dict(n=TN), width=STORE, guard="shape").to(f32)
    for j, i in ag.unroll(TN, TM):
        C[row, column].store(activated(acc[i, j] + shift[j]).to(T_OUT), width=STORE, guard="shape")
