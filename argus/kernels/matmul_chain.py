"""The matrix product of the library with a chain of elementwise steps after it: bf16 or f16, f32 accumulation.

    C[m, n] = chain(sum(A[m, k] * B[n, k], k))          S0="add_U" HAS_U="n" S1="gelu": bias and activation

The sum is that of `argus.kernels.matmul`, with all of its knobs; the chain is `argus.kernels.chain`. HAS_U says which
axes its operand U has: `n` (a bias), `m`, `mn` (a residual) or `one` (a single number). Operands have the type of A.
TRIANGLE: the result is lower or upper triangular, zero on the other side; nothing is skipped.
"""

import argus as ag
from argus import f32
from argus.kernels.chain import after, told
from argus.kernels.matmul import (
    A_T,
    ACC,
    B_T,
    BM,
    BN,
    EXAMPLE,
    INST,
    NEEDS,
    ROWS_A,
    ROWS_B,
    THREADS,
    TM,
    TN,
    WIDTH,
    WM,
    WN,
    T,
    place,
    product,
    spans,
)

HAS_U = ag.knob("none", legal=("none", "one", "n", "m", "mn"), why="the axes of U")
HAS_V = ag.knob("none", legal=("none", "one", "n", "m", "mn"), why="the axes of V")
HAS_W = ag.knob("none", legal=("none", "one", "n", "m", "mn"), why="the axes of W")
TRIANGLE = ag.knob("none", legal=("none", "lower", "upper"), why="the part of C that is kept; zero elsewhere")

AXES = {"none": "one=1", "one": "one=1", "n": "N", "m": "M", "mn": "M N"}


def at(kind, n):
    """Where an operand of the chain is read, for column `n` of the result."""
    return {"none": "[0]", "one": "[0]", "n": f"[{n}]", "m": "[m]", "mn": f"[m, {n}]"}[kind]


def result(n):
    """What the specification says of column `n`."""
    given = {"U": f"U{at(HAS_U, n)}", "V": f"V{at(HAS_V, n)}", "W": f"W{at(HAS_W, n)}"}
    made = told(f"sum(A[{'k, m' if A_T else 'm, k'}] * B[{f'k, {n}' if B_T else f'{n}, k'}], k)", given)
    return {"none": made, "lower": f"where({n} <= m, {made}, 0)", "upper": f"where(m <= {n}, {made}, 0)"}[TRIANGLE]


RESULT = result("n")
ONE = ag.Owner(t=THREADS, one="t*0")
BYTES = min(8, WIDTH)  # four neighbouring n of a lane


def operand(values, kind, m0, n0):
    """What all tiles of a wave need of an operand, fetched once."""
    if kind == "n":
        return values[n0].load(ACC.per("n"), tiles=dict(n=TN), width=BYTES, guard="shape").to(f32)
    if kind == "m":
        return values[m0].load(ACC.per("m"), tiles=dict(m=TM), width=2, guard="shape").to(f32)
    return values[0].load(ONE, width=2).without().to(f32) if kind == "one" else 0.0


def of_tile(values, kind, fetched, i, j, m, n):
    """An operand's part of tile i, j, whose first element is at m, n."""
    return {
        "none": lambda: 0.0,
        "one": lambda: fetched,
        "n": lambda: fetched[j].held_as(ACC.per("n")),
        "m": lambda: fetched[i].held_as(ACC.per("m")),
        "mn": lambda: values[m, n].load(ACC, width=BYTES, guard="shape").to(f32),
    }[kind]()


def chained(sums, tensors, fetched, i, j, m, n, parameters):
    """Tile i, j of the result of these sums: the chain, and zeros beside the triangle."""
    U, V, W = tensors
    u, v, w = fetched
    given = {
        "U": of_tile(U, HAS_U, u, i, j, m, n),
        "V": of_tile(V, HAS_V, v, i, j, m, n),
        "W": of_tile(W, HAS_W, w, i, j, m, n),
    }
    tile = after(sums.held_as(ACC), given, parameters)
    if TRIANGLE == "lower":
        tile = ag.where(n + tile.n <= m + tile.m, tile, 0.0)
    if TRIANGLE == "upper":
        tile = ag.where(m + tile.m <= n + tile.n, tile, 0.0)
    return tile


@ag.kernel(threads=THREADS, waves=(WM, WN), requires=NEEDS, computes=f"C[m, n] = {RESULT}", example=EXAMPLE)
def matmul_chain(
    A: ag.In[ROWS_A, T],
    B: ag.In[ROWS_B, T],
    U: ag.In[AXES[HAS_U], T],
    V: ag.In[AXES[HAS_V], T],
    W: ag.In[AXES[HAS_W], T],
    C: ag.Out["M N", T],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    bm, bn = place(M, N)
    wm, wn = ag.wave()
    acc = product(A, B, bm, bn, spans(bm, bn, K))
    m0, n0 = bm * BM + INST * TM * wm, bn * BN + INST * TN * wn
    fetched = [operand(U, HAS_U, m0, n0), operand(V, HAS_V, m0, n0), operand(W, HAS_W, m0, n0)]
    for j, i in ag.unroll(TN, TM):  # tile by tile: the epilogue needs no registers beside the sums
        m, n = m0 + INST * i, n0 + INST * j
        tile = chained(acc[i, j], [U, V, W], fetched, i, j, m, n, [p0, p1, p2, p3, p4, p5, p6, p7])
        C[m, n].store(tile.to(T), width=BYTES, guard="shape")
