"""Matrix products in f32 with `mfma_32x32x2_f32`: C = A @ B, batched, with a chain of elementwise steps after it.

    C[z, m, n] = chain(sum(A[z, m, k] * B[z, k, n], k))          S0="add_U" HAS_U="n" S1="gelu": bias and activation

One BM x BN tile of C per workgroup, WM x WN waves. A k-step of both operands goes through registers to LDS; each wave
reads the fragments it multiplies from there. An operand is stored by rows of k (A[m, k], B[n, k]) or by k (A[k, m],
B[k, n]), and lies in LDS as it is stored. In f32 an instruction takes 64 clocks for 256 bytes of each operand, so that
reading single words from LDS costs little.

Z is the batch (a 4-D product with one matrix is M = B * I * J rows; a batched one has Z = B * H). Rows past the end are
cut off by the buffer range or a guard, K by a guard.

The chain is `argus.kernels.chain`; HAS_U says which axes its operand U has: `n` (a bias), `m`, `mn` (one matrix for the
whole batch), `zmn` (a residual) or `one` (a single number).

TRIANGLE: the result is lower or upper triangular, zero on the other side. Nothing is skipped.

XF32: `mfma_32x32x4_xf32` instead, which reads operands with 10 bits of mantissa; docs/operators.md says the error.
"""

import argus as ag
from argus import f32
from argus.gfx942 import mfma_32x32x2_f32, mfma_32x32x4_xf32
from argus.kernels.chain import after, told

BM = ag.knob(128, legal=(64, 128, 256), why="rows of C per workgroup")
BN = ag.knob(128, legal=(64, 128, 256), why="columns of C per workgroup")
WM = ag.knob(2, legal=(1, 2, 4), why="waves along M")
WN = ag.knob(2, legal=(1, 2, 4), why="waves along N")
A_BY_K = ag.knob(False, legal=(False, True), why="A is stored as A[z, k, m]")
SHARED_A = ag.knob(False, legal=(False, True), why="A is one matrix for the whole batch: A[m, k] or A[k, m]")
B_BY_K = ag.knob(True, legal=(False, True), why="B is stored as B[z, k, n]")
WIDTH = ag.knob(16, legal=(4, 8, 16), why="bytes per access; rows of A, B and C must be multiples of it")
HAS_U = ag.knob("none", legal=("none", "one", "n", "m", "mn", "zmn"), why="the axes of U")
HAS_V = ag.knob("none", legal=("none", "one", "n", "m", "mn", "zmn"), why="the axes of V")
HAS_W = ag.knob("none", legal=("none", "one", "n", "m", "mn", "zmn"), why="the axes of W")
TRIANGLE = ag.knob("none", legal=("none", "lower", "upper"), why="the part of C that is kept; zero elsewhere")
XF32 = ag.knob(False, legal=(False, True), why="operands rounded to 10 mantissa bits: four times the peak, on request")

MMA = mfma_32x32x4_xf32 if XF32 else mfma_32x32x2_f32
KI = 4 if XF32 else 2  # k of one instruction
NEAR = 2 * KI  # bytes of the neighbouring k that a lane holds of an operand
BK = 16  # k per step: 64 bytes of each row; both operands' steps are fetched while the one before is multiplied
THREADS = 64 * WM * WN
TM, TN = BM // (32 * WM), BN // (32 * WN)  # 32 x 32 tiles of C per wave
assert min(TM, TN) >= 1, "every wave has a tile"

FRAG = MMA.operand()
ACC = MMA.acc(row="n", col="m")


def lds(extent, by_k):
    """By k: rows of `extent` words. Else rows of BK words and one access more, so that a column meets every bank."""
    if by_k:
        return ag.Layout(k=(BK, 4 * extent), row=(extent, 4))
    return ag.Layout(row=(extent, 4 * BK + NEAR), k=(BK, 4))


def copy(extent, by_k):
    """Who moves a step of an operand: 4 words each, p times."""
    passes = extent * BK // (4 * THREADS)
    assert passes >= 1, "every thread moves 16 bytes"
    if by_k:
        return ag.Owner(
            p=passes, t=THREADS, e=4, k=f"(p*{THREADS} + t)*4//{extent}", row=f"(p*{THREADS} + t)*4%{extent} + e"
        )
    return ag.Owner(p=passes, t=THREADS, e=4, row=f"(p*{THREADS} + t)//{BK // 4}", k=f"t%{BK // 4}*4 + e")


LDS_A, LDS_B = lds(BM, A_BY_K), lds(BN, B_BY_K)
COPY_A, COPY_B = copy(BM, A_BY_K), copy(BN, B_BY_K)

AXES = {"none": "one=1", "one": "one=1", "n": "N", "m": "M", "mn": "M N", "zmn": "Z M N"}


def at(kind, n):
    """Where an operand of the chain is read, for column `n` of the result."""
    return {"none": "[0]", "one": "[0]", "n": f"[{n}]", "m": "[m]", "mn": f"[m, {n}]", "zmn": f"[z, m, {n}]"}[kind]


def result(n):
    """What the specification says of column `n`."""
    of_a = ("A[" if SHARED_A else "A[z, ") + ("k, m]" if A_BY_K else "m, k]")
    of_b = f"B[z, k, {n}]" if B_BY_K else f"B[z, {n}, k]"
    given = {"U": f"U{at(HAS_U, n)}", "V": f"V{at(HAS_V, n)}", "W": f"W{at(HAS_W, n)}"}
    made = told(f"sum({of_a} * {of_b}, k)", given)
    return {"none": made, "lower": f"where({n} <= m, {made}, 0)", "upper": f"where(m <= {n}, {made}, 0)"}[TRIANGLE]


ROWS_A = ("" if SHARED_A else "Z ") + ("K M" if A_BY_K else "M K")
ROWS_B = "Z K N" if B_BY_K else "Z N K"
RESULT = result("n")
ONE = ag.Owner(t=THREADS, one="t*0")
ROWS = WIDTH // 4


def product(A, B, z, bm, bn, K):
    """The sums of a workgroup's tile; a wave holds its part."""
    wm, wn = ag.wave()
    row, column = 32 * TM * wm, 32 * TN * wn
    sA, sB = ag.shared(LDS_A, f32), ag.shared(LDS_B, f32)
    acc = ag.zeros(ACC, f32, tiles=dict(m=TM, n=TN))

    def fetch(step):
        """Both operands' k-step on its way to registers."""
        k = step * BK
        of_a = A[k, bm * BM] if A_BY_K else A[bm * BM, k]
        if not SHARED_A:
            of_a = A[z, k, bm * BM] if A_BY_K else A[z, bm * BM, k]
        a = of_a.load(COPY_A, width=WIDTH, guard="shape")
        b = (B[z, k, bn * BN] if B_BY_K else B[z, bn * BN, k]).load(COPY_B, width=WIDTH, guard="shape")
        return a, b

    ra, rb = fetch(0)
    for kt in ag.range(ag.cdiv(K, BK)):
        ag.barrier()  # the step before has been read by all waves
        sA.store(ra, COPY_A, width=16 if A_BY_K else NEAR)
        sB.store(rb, COPY_B, width=16 if B_BY_K else NEAR)
        ag.barrier()  # this step is visible to all waves
        ra, rb = fetch(kt + 1)
        for ks in ag.unroll(BK // KI):
            a = [sA.load(FRAG, row=row + 32 * i, k=KI * ks, width=4 if A_BY_K else NEAR) for i in range(TM)]
            b = [sB.load(FRAG, row=column + 32 * j, k=KI * ks, width=4 if B_BY_K else NEAR) for j in range(TN)]
            for i, j in ag.unroll(TM, TN):
                # Operands swapped: a lane then holds 4 consecutive n, which are 16-byte stores.
                acc[i, j] = ag.mfma(b[j], a[i], acc[i, j])
    return acc


def operand(values, kind, m0, n0):
    """What all tiles of a wave need of an operand, fetched once."""
    if kind == "n":
        return values[n0].load(ACC.per("n"), tiles=dict(n=TN), width=WIDTH, guard="shape")
    if kind == "m":
        return values[m0].load(ACC.per("m"), tiles=dict(m=TM), width=4, guard="shape")
    return values[0].load(ONE, width=4).without() if kind == "one" else 0.0


def of_tile(values, kind, fetched, i, j, z, m, n):
    """An operand's part of tile i, j, whose first element is at z, m, n."""
    return {
        "none": lambda: 0.0,
        "one": lambda: fetched,
        "n": lambda: fetched[j].held_as(ACC.per("n")),
        "m": lambda: fetched[i].held_as(ACC.per("m")),
        "mn": lambda: values[m, n].load(ACC, width=WIDTH, guard="shape"),
        "zmn": lambda: values[z, m, n].load(ACC, width=WIDTH, guard="shape"),
    }[kind]()


def chained(sums, tensors, fetched, i, j, z, m, n, parameters):
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


NEEDS = (
    f"Z >= 1 and M >= 1 and N >= 1 and K >= 1 and N % {ROWS} == 0"
    + ("" if A_BY_K and B_BY_K else f" and K % {ROWS} == 0")
    + (f" and M % {ROWS} == 0" if A_BY_K else "")
)
EXAMPLE = dict(Z=2, M=200, N=136, K=72)


@ag.kernel(threads=THREADS, waves=(WM, WN), requires=NEEDS, computes=f"C[z, m, n] = {RESULT}", example=EXAMPLE)
def gemm_f32(
    A: ag.In[ROWS_A, f32],
    B: ag.In[ROWS_B, f32],
    U: ag.In[AXES[HAS_U], f32],
    V: ag.In[AXES[HAS_V], f32],
    W: ag.In[AXES[HAS_W], f32],
    C: ag.Out["Z M N", f32],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    z, bm, bn = ag.grid(Z, ag.cdiv(M, BM), ag.cdiv(N, BN))
    wm, wn = ag.wave()
    acc = product(A, B, z, bm, bn, K)
    m0, n0 = bm * BM + 32 * TM * wm, bn * BN + 32 * TN * wn
    fetched = [operand(U, HAS_U, m0, n0), operand(V, HAS_V, m0, n0), operand(W, HAS_W, m0, n0)]
    for i, j in ag.unroll(TM, TN):  # tile by tile: the epilogue needs no registers beside the sums
        m, n = m0 + 32 * i, n0 + 32 * j
        tile = chained(acc[i, j], [U, V, W], fetched, i, j, z, m, n, [p0, p1, p2, p3, p4, p5, p6, p7])
        C[z, m, n].store(tile, width=WIDTH, guard="shape")
