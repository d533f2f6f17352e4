"""One triangle of the product of `matmul_chain` (bf16 or f16); tiles without an element of it are skipped.

    C[m, n] = where(m <= n, chain(sum(A[m, k] * B[n, k], k)), 0)          TRIANGLE="upper"
    C[m, n] = where(n <= m, chain(sum(A[m, k] * B[n, k], k)), 0)          TRIANGLE="lower"

Of a tile that the mask makes zero as a whole nothing is loaded, and zeros are stored: half of the work of a square. The
other knobs are those of `matmul_chain`, without a batch.

Workgroups that multiply have the lower numbers, so they start together, and every XCD has as many of them. Columns of
tiles are taken in pairs, one with much of the triangle (tall) and one with little (short), from the middle outwards. A
pair is a list of tiles:

    upper   tall: tiles of the triangle | short: all from the first row down | tall: the others
    lower   short: tiles of the triangle | tall: all from the last row up    | short: the others

An XCD has every fourth pair, and every second place of its list. The grid has one row of tiles more than C, and columns
up to a multiple of 8; there nothing is done. The last workgroup has the last row and column of the grid, which the
checker needs to know that together they reach all of C.
"""

import argus as ag
from argus import f32
from argus.kernels.matmul import ACC, BM, BN, INST, THREADS, TM, TN, WM, WN, XM, T
from argus.kernels.matmul_chain import (
    AXES,
    BATCH,
    BYTES,
    HAS_U,
    HAS_V,
    HAS_W,
    NEEDS,
    RESULT,
    ROWS_A,
    ROWS_B,
    SIZES,
    TRIANGLE,
    WIDE,
    R,
    matrix,
)

ACROSS = 4  # XCDs along pairs of columns; two along a list

assert TRIANGLE != "none", "without a triangle nothing is skipped: matmul_chain"
assert BATCH == "none", "one product"
assert XM == 0, "tiles have an order of their own"


def first_rows(bn, M, N):
    """Upper: tiles of a column that have an element of the triangle; they are the first."""
    return ag.min(ag.cdiv(M, BM), (bn * BN + BN - 1) // BM + 1) if bn * BN < N else 0


def rows_above(bn, M, N):
    """Lower: tiles of a column that have none; they are the first."""
    return ag.min(ag.cdiv(M, BM), bn * BN // BM) if bn * BN < N else ag.cdiv(M, BM)


def place(M, N):
    """This workgroup's tile. That it is not negative `ag.max` makes plain: a base of a buffer is not."""
    last = ag.cdiv(M, BM)  # the row of tiles that is not in C
    eights = ag.cdiv(N, 2 * ACROSS * BN)
    turn, group, xcd = ag.grid(last + 1, eights, 8)
    s, pair = 2 * turn + xcd // ACROSS, ACROSS * group + xcd % ACROSS
    right, left = ACROSS * eights + pair, ACROSS * eights - 1 - pair
    if TRIANGLE == "upper":
        start = first_rows(right, M, N)
    else:
        above = rows_above(right, M, N)
        start = last - above
    inner = start <= s < start + last + 1
    inside, behind = s - start, s - start - last - 1
    if TRIANGLE == "upper":
        row = inside if inner else (s if s < start else start + behind)
    else:
        row = last - inside if inner else (above + s if s < start else (behind if behind < above else last))
    return ag.max(row, 0), ag.max(left if inner else right, 0)


def kept(bm, bn, M, N):
    """Whether a tile has an element of the triangle that is in C."""
    m, n = bm * BM, bn * BN
    if TRIANGLE == "upper":
        return m <= (ag.min(n + BN - 1, M - 1) if n < N else -1)
    return n <= (ag.min(m + BM - 1, N - 1) if m < M else -1)


@ag.kernel(threads=THREADS, waves=(WM, WN), requires=NEEDS, computes=f"C[m, n] = {RESULT}", example=SIZES)
def matmul_triangle(
    A: ag.In[ROWS_A, T],
    B: ag.In[ROWS_B, T],
    U: ag.In[AXES[HAS_U], T],
    V: ag.In[AXES[HAS_V], T],
    W: ag.In[AXES[HAS_W], T],
    C: ag.Out["M N", R],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    bm, bn = place(M, N)
    if kept(bm, bn, M, N):
        matrix(A, B, C, U, V, W, 0, bm, bn, K, [p0, p1, p2, p3, p4, p5, p6, p7])
    else:
        wm, wn = ag.wave()
        m0, n0 = bm * BM + INST * TM * wm, bn * BN + INST * TN * wn
        zeros = ag.zeros(ACC, f32).to(R)
        for j, i in ag.unroll(TN, TM):
            C[m0 + INST * i, n0 + INST * j].store(zeros, width=BYTES * (2 if WIDE else 1), guard="shape")
