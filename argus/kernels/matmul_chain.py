"""The matrix product of the library with a chain of elementwise steps after it: bf16 or f16, f32 accumulation.

    C[m, n] = chain(sum(A[m, k] * B[n, k], k))          S0="add_U" HAS_U="n" S1="gelu": bias and activation

The sum is that of `argus.kernels.matmul`, with all of its knobs; the chain is `argus.kernels.chain`. HAS_U says which
axes its operand U has: `n` (a bias), `m`, `mn` (a residual) or `one` (a single number). Operands have the type of A.
TRIANGLE: the result is lower or upper triangular, zero on the other side; nothing is skipped.

BATCH: Z products in one launch, C[z, m, n]; A has a matrix for each, or one for all (`shared`). An operand of the chain
has `mn` for the whole batch or `zmn`.

LONGER, STORE: for odd sizes. Operands are copies with rows that are multiples of 16 bytes and zeros behind K, which is
then the padded one. An operand that is stored by k has rows of P (B) or Q (A) elements, of which N or M are used. C
keeps its rows: STORE says how many bytes of it are written at once.

WIDE: C is f32, for scores that an exponential is taken of.
"""

import argus as ag
from argus import f32
from argus.kernels.chain import after, told
from argus.kernels.matmul import (
    A_T,
    ACC,
    B_T,
    BK,
    BM,
    BN,
    INST,
    KTAIL,
    LEAST,
    STAGGER,
    THREADS,
    TM,
    TN,
    WIDTH,
    WM,
    WN,
    XM,
    T,
    place,
    product,
    spans,
)

HAS_U = ag.knob("none", legal=("none", "one", "n", "m", "mn", "zmn"), why="the axes of U")
HAS_V = ag.knob("none", legal=("none", "one", "n", "m", "mn", "zmn"), why="the axes of V")
HAS_W = ag.knob("none", legal=("none", "one", "n", "m", "mn", "zmn"), why="the axes of W")
TRIANGLE = ag.knob("none", legal=("none", "lower", "upper"), why="the part of C that is kept; zero elsewhere")
BATCH = ag.knob("none", legal=("none", "both", "shared"), why="Z products: a matrix A for each, or one for all")
LONGER = ag.knob(False, legal=(False, True), why="rows of operands stored by k are longer than M or N")
STORE = ag.knob(0, legal=(0, 2, 4, 8), why="bytes per access along rows of C; 0: as WIDTH, up to 8")
WIDE = ag.knob(False, legal=(False, True), why="C is f32; STORE counts its elements as if they were of two bytes")

AXES = {"none": "one=1", "one": "one=1", "n": "N", "m": "M", "mn": "M N", "zmn": "Z M N"}
OF_A, OF_B = "Z " if BATCH == "both" else "", "" if BATCH == "none" else "Z "
ROWS_A = OF_A + (("K Q" if LONGER else "K M") if A_T else "M K")
ROWS_B = OF_B + (("K P" if LONGER else "K N") if B_T else "N K")


def at(kind, n):
    """Where an operand of the chain is read, for column `n` of the result."""
    return {"none": "[0]", "one": "[0]", "n": f"[{n}]", "m": "[m]", "mn": f"[m, {n}]", "zmn": f"[z, m, {n}]"}[kind]


def result(n):
    """What the specification says of column `n`."""
    given = {"U": f"U{at(HAS_U, n)}", "V": f"V{at(HAS_V, n)}", "W": f"W{at(HAS_W, n)}"}
    of_a = ("z, " if BATCH == "both" else "") + ("k, m" if A_T else "m, k")
    of_b = ("" if BATCH == "none" else "z, ") + (f"k, {n}" if B_T else f"{n}, k")
    made = told(f"sum(A[{of_a}] * B[{of_b}], k)", given)
    return {"none": made, "lower": f"where({n} <= m, {made}, 0)", "upper": f"where(m <= {n}, {made}, 0)"}[TRIANGLE]


RESULT = result("n")
R = f32 if WIDE else T
BYTES = STORE if STORE else min(8, WIDTH)  # four neighbouring n of a lane
NEEDS = (
    f"M >= 1 and N >= 1 and K >= {1 if STAGGER == 0 else 2 * BK} and N % {BYTES // 2} == 0"
    + f" and K % {(1 if A_T and B_T else LEAST) if KTAIL else BK} == 0"  # stored by k, rows of any number are whole
    + ((f" and Q >= M and Q % {LEAST} == 0" if LONGER else f" and M % {LEAST} == 0") if A_T else "")
    + ((f" and P >= N and P % {LEAST} == 0" if LONGER else f" and N % {LEAST} == 0") if B_T else "")
    + ("" if BATCH == "none" else " and Z >= 1")
)
MORE = (["Z"] if BATCH != "none" else []) + (["Q"] if LONGER and A_T else []) + (["P"] if LONGER and B_T else [])
SIZES = {name: 2 if name == "Z" else 256 for name in ["M", "N", "K"] + MORE}
ONE = ag.Owner(t=THREADS, one="t*0")


def operand(values, kind, m0, n0):
    """What all tiles of a wave need of an operand, fetched once."""
    if kind == "n":
        return values[n0].load(ACC.per("n"), tiles=dict(n=TN), width=BYTES, guard="shape").to(f32)
    if kind == "m":
        return values[m0].load(ACC.per("m"), tiles=dict(m=TM), width=2, guard="shape").to(f32)
    return values[0].load(ONE, width=2).without().to(f32) if kind == "one" else 0.0


def of_tile(values, kind, fetched, i, j, z, m, n):
    """An operand's part of tile i, j, whose first element is at z, m, n."""
    return {
        "none": lambda: 0.0,
        "one": lambda: fetched,
        "n": lambda: fetched[j].held_as(ACC.per("n")),
        "m": lambda: fetched[i].held_as(ACC.per("m")),
        "mn": lambda: values[m, n].load(ACC, width=BYTES, guard="shape").to(f32),
        "zmn": lambda: values[z, m, n].load(ACC, width=BYTES, guard="shape").to(f32),
    }[kind]()


def chained(sums, tensors, fetched, i, j, m, n, parameters, z=0):
    """Tile i, j of the result of these sums: the chain, and zeros beside the triangle."""
    U, V, W = tensors
    u, v, w = fetched
    given = {
        "U": of_tile(U, HAS_U, u, i, j, z, m, n),
        "V": of_tile(V, HAS_V, v, i, j, z, m, n),
        "W": of_tile(W, HAS_W, w, i, j, z, m, n),
    }
    tile = after(sums.held_as(ACC), given, parameters)
    if TRIANGLE == "lower":
        tile = ag.where(n + tile.n <= m + tile.m, tile, 0.0)
    if TRIANGLE == "upper":
        tile = ag.where(m + tile.m <= n + tile.n, tile, 0.0)
    return tile


def matrix(A, B, C, U, V, W, z, bm, bn, K, parameters):
    """One tile of a product, stored; `z` is the matrix of a batch."""
    wm, wn = ag.wave()
    acc = product(A, B, bm, bn, spans(bm, bn, K), (z,) if BATCH == "both" else (), () if BATCH == "none" else (z,))
    m0, n0 = bm * BM + INST * TM * wm, bn * BN + INST * TN * wn
    fetched = [operand(U, HAS_U, m0, n0), operand(V, HAS_V, m0, n0), operand(W, HAS_W, m0, n0)]
    for j, i in ag.unroll(TN, TM):  # tile by tile: the epilogue needs no registers beside the sums
        m, n = m0 + INST * i, n0 + INST * j
        tile = chained(acc[i, j], [U, V, W], fetched, i, j, m, n, parameters, z)
        (C[m, n] if BATCH == "none" else C[z, m, n]).store(tile.to(R), width=BYTES * (2 if WIDE else 1), guard="shape")


assert BATCH == "none" or XM == 0, "matrices of a batch are dealt to the XCDs, not parts of them"
OF_C, PLACE = ("M N", "m, n") if BATCH == "none" else ("Z M N", "z, m, n")


@ag.kernel(threads=THREADS, waves=(WM, WN), requires=NEEDS, computes=f"C[{PLACE}] = {RESULT}", example=SIZES)
def matmul_chain(
    A: ag.In[ROWS_A, T],
    B: ag.In[ROWS_B, T],
    U: ag.In[AXES[HAS_U], T],
    V: ag.In[AXES[HAS_V], T],
    W: ag.In[AXES[HAS_W], T],
    C: ag.Out[OF_C, R],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    given = [p0, p1, p2, p3, p4, p5, p6, p7]
    if BATCH == "none":
        bm, bn = place(M, N)
        matrix(A, B, C, U, V, W, 0, bm, bn, K, given)
    else:
        z, bm, bn = ag.grid(Z, ag.cdiv(M, BM), ag.cdiv(N, BN), order=ag.xcd(8))  # an XCD has all tiles of a matrix
        matrix(A, B, C, U, V, W, z, bm, bn, K, given)
