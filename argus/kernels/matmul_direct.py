"""Matrix product without LDS in its loop: C = A @ B.T, bf16, f16 or fp8 (to bf16), operands straight from memory.

A lane loads the 16 bytes it multiplies. WK groups of waves take every WK-th k-step; the WM x WN waves of a group divide
the tile, and what two of them need comes to the second one from the L1. A k-step is one line of 128 bytes per row. The
registers of a column of fragments are filled again as soon as it was multiplied, so that DEPTH k-steps are on their way
without a copy. The groups' partial tiles meet in LDS once, after the loop: two groups exchange halves, more add up
shares.

    1024 x 1024 x 1024          64 x 64 tiles, two groups of two waves
    2048 x 2048 x 2048          128 x 128 tiles, one group of 2 x 2 waves that a barrier keeps together
    M = 1 ... 64 rows           16 ... 64 x 64 tiles, four groups of one wave: the weights are read once

Rows past the end of a tensor are cut off by the buffer range, K past its end by a guard (KTAIL).
`split_direct` divides K over SPLITS workgroups as well and leaves their sums to `combine` (elementwise.py).

What it cannot do: operands stored by k; wide tiles, whose lines the L1 cannot hold until the second wave asks.
"""

import argus as ag
from argus import bf16, f16, f32, fp8
from argus.gfx942 import (
    mfma_16x16x16_bf16,
    mfma_16x16x16_f16,
    mfma_16x16x32_fp8_fp8,
    mfma_32x32x8_bf16,
    mfma_32x32x8_f16,
    mfma_32x32x16_fp8_fp8,
)

DTYPE = ag.knob("bf16", legal=("bf16", "f16", "fp8"), why="element type of A and B, and of C; of fp8 C is bf16")
BM = ag.knob(64, legal=(16, 32, 64, 96, 128, 256), why="rows of C per workgroup")
BN = ag.knob(64, legal=(16, 32, 64, 96, 128, 256), why="columns of C per workgroup")
WK = ag.knob(4, legal=(1, 2, 4, 8), why="groups of waves, each with every WK-th k-step")
WM = ag.knob(1, legal=(1, 2, 4), why="waves of a group along M")
WN = ag.knob(1, legal=(1, 2, 4), why="waves of a group along N")
INST = ag.knob(16, legal=(16, 32), why="matrix instruction: 16x16x16 or 32x32x8, of fp8 with twice the k")
DEPTH = ag.knob(2, legal=(1, 2, 3, 4), why="k-steps of a wave on their way in registers")
TOGETHER = ag.knob(False, legal=(False, True), why="barriers keep the waves in step: lines they share are in the L1")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per load; rows of A and B must be multiples of it")
STORE = ag.knob(
    0, legal=(0, 2, 4, 8), why="bytes per store of C; rows of C must be multiples of it; 0: as WIDTH, at most 8"
)
KTAIL = ag.knob(False, legal=(False, True), why="K is no multiple of BK: mask the last step")
XM = ag.knob(0, legal=(0, 1, 2, 4, 8), why="XCDs along M (8 // XM along N); 0: row-major workgroups")
BAND = ag.knob(
    0,
    legal=tuple(range(17)),
    why="each XCD has neighboring tiles, whatever their number, in bands of so many rows, a divisor of theirs; 0: XM",
)
SPLITS = ag.knob(
    4, legal=(2, 3, 4, 5, 6, 7, 8, 16), why="split_direct: workgroups that share a tile of C, each with a part of K"
)

T, T_OUT = {"bf16": (bf16, bf16), "f16": (f16, f16), "fp8": (fp8, bf16)}[DTYPE]
MMA = {
    "bf16": {16: mfma_16x16x16_bf16, 32: mfma_32x32x8_bf16},
    "f16": {16: mfma_16x16x16_f16, 32: mfma_32x32x8_f16},
    "fp8": {16: mfma_16x16x32_fp8_fp8, 32: mfma_32x32x16_fp8_fp8},
}[DTYPE][INST]
E = 16 if DTYPE == "fp8" else 8  # elements of 16 bytes
BK = 8 * E  # a whole line of 128 bytes per row
LEAST = WIDTH * E // 16  # elements per access
OUT = STORE or min(8, WIDTH)  # bytes per store; four neighbouring n of a lane are 8
WAVES = WK * WM * WN
TM, TN = BM // (WM * INST), BN // (WN * INST)  # matrix instruction tiles per wave
KF = 64 * E // INST  # k of one fragment: a lane's 16 bytes feed two instructions
FRAGS = BK // KF
FRAG = MMA.operand(wide=E)
ACC = MMA.acc(row="n", col="m")

assert BM % (WM * INST) == 0, "every wave takes whole rows of matrix instruction tiles"
assert BN % (WN * INST) == 0, "every wave takes whole columns of matrix instruction tiles"

# Two groups exchange halves of their tile, cut along N; the tile of a wave is held in as many pieces.
HALVES = 2 if WK == 2 and TN % 2 == 0 else 1
PIECE = TN // HALVES

# Partial tiles, 4 neighbouring n = 16 bytes. Rows are spread over the banks: by an XOR of the chunk with the row or,
# where rows are no power of two, 16 bytes between them.
EVEN = BN & (BN - 1) == 0
ROW = 4 * BN if EVEN else 4 * BN + 16
ROWS = ag.Layout(w=(1 if HALVES == 2 else WK, ROW * BM), m=(BM, ROW), chunk=(BN // 4, 16), e=(4, 4), n=("chunk", "e"))
PARTS = ROWS.xor(chunk="m[0:3]" if BN >= 32 else "m[0:2]") if EVEN else ROWS
SHARE = BM * BN // (64 * WAVES)  # elements a thread adds up and stores
assert SHARE >= 1, "every thread stores a part of the tile"
WIDE = min(4, SHARE)
SUM = ag.Owner(
    t=64 * WAVES,
    p=SHARE // WIDE,
    e=WIDE,
    m=f"(p*{64 * WAVES} + t)*{WIDE}//{BN}",
    n=f"(p*{64 * WAVES} + t)*{WIDE}%{BN} + e",
)


NEEDS = (
    f"M >= 1 and N >= 1 and K >= 1 and N % {OUT // 2} == 0 and K % {LEAST if KTAIL else BK} == 0"
    + (f" and K <= {2**30}" if E == 16 else "")  # as far as two-byte elements reach: K in whole turns fits 32 bits
)


def place(M, N):
    """This workgroup's tile. Its number % 8 is its XCD; XCDs take every XM-th row and every (8 // XM)-th column, or
    neighboring tiles in bands."""
    if BAND:
        z, bn, y = ag.grid(ag.cdiv(M, BM * BAND), ag.cdiv(N, BN), BAND, order=ag.xcd(8))
        return z * BAND + y, bn
    if XM == 0:
        return ag.grid(ag.cdiv(M, BM), ag.cdiv(N, BN))
    y, z, x = ag.grid(ag.cdiv(M, BM * XM), ag.cdiv(N, BN * (8 // XM)), 8)
    return y * XM + x // (8 // XM), z * (8 // XM) + x % (8 // XM)


FACTORS = "A[m, k] * B[n, k]"
TURNS = f"((K + {BK - 1}) // {BK} + {WK * SPLITS - 1}) // {WK * SPLITS}"  # steps of a group in a part of K
LONG = f"{BK * WK * DEPTH} * (({TURNS} + {DEPTH - 1}) // {DEPTH})"
PART = f"sum(where(k >= s * {LONG}, 1, 0) * where(k < (s + 1) * {LONG}, 1, 0) * {FACTORS}, k)"
EXAMPLE = dict(M=64, N=128, K=512)


def partial_sums(A, B, bm, bn, K, first, steps):
    """This wave's part of the tile, over `steps` k-steps of its group from the group's step `first` on; in HALVES."""
    wk, wm, wn = ag.wave()
    row, column = INST * TM * wm, INST * TN * wn
    acc = [ag.zeros(ACC, f32, tiles=dict(m=TM, n=PIECE)) for piece in range(HALVES)]
    last = ag.cdiv(K, BK)

    def fetch(X, start, step):
        """A fragment's line of 128 bytes per row, for this group's part of `step`."""
        kt = (first + step) * WK + wk
        inside = "shape" if KTAIL else kt < last
        return [X[start, kt * BK + KF * ks].load(FRAG, width=WIDTH, guard=inside) for ks in range(FRAGS)]

    def fetch_row(i, step):
        return fetch(A, bm * BM + row + INST * i, step)

    def fetch_column(j, step):
        return fetch(B, bn * BN + column + INST * j, step)

    def multiply(a, b, j):
        for ks, h, i in ag.unroll(FRAGS, 2, TM):
            acc[j // PIECE][i, j % PIECE] = ag.mfma(b[ks][h], a[i][ks][h], acc[j // PIECE][i, j % PIECE])

    def in_step():
        if TOGETHER:
            ag.barrier()

    rows, columns = [[] for d in range(DEPTH)], [[] for d in range(DEPTH)]
    for d in range(DEPTH):
        for i in range(TM):
            if WN > 1:
                in_step()
            rows[d] = [*rows[d], fetch_row(i, d)]
        for j in range(TN):
            in_step()
            columns[d] = [*columns[d], fetch_column(j, d)]
    for turn in ag.range(steps // DEPTH - 1):
        for d in range(DEPTH):
            in_step()
            coming = (turn + 1) * DEPTH + d
            ahead = []
            for j in range(TN):
                multiply(rows[d], columns[d][j], j)
                ahead = [*ahead, fetch_column(j, coming)]
            rows[d], columns[d] = [fetch_row(i, coming) for i in range(TM)], ahead
    for d in range(DEPTH):
        for j in range(TN):
            multiply(rows[d], columns[d][j], j)
    return acc


def joined(acc, deliver):
    """The sums of all groups; `deliver(place in the tile, sum, neighbours along n that a lane holds)` stores them."""
    wk, wm, wn = ag.wave()
    row, column = INST * TM * wm, INST * TN * wn
    if WK == 1:
        deliver(row, column, acc[0], 4)
    elif HALVES == 2:
        parts = ag.shared(PARTS, f32)

        def give(piece):
            parts.store(acc[piece], w=0, m=row, n=column + INST * PIECE * piece, width=16)

        def take(piece):
            at = column + INST * PIECE * piece
            total = acc[piece] + parts.load(ACC, w=0, m=row, n=at, tiles=dict(m=TM, n=PIECE), width=16)
            deliver(row, at, total, 4)

        if wk == 0:
            give(1)
        else:
            give(0)
        ag.barrier()
        if wk == 0:
            take(0)
        else:
            take(1)
    else:
        parts = ag.shared(PARTS, f32)
        parts.store(acc[0], w=wk, m=row, n=column, width=16)
        ag.barrier()
        total = parts.load(SUM, w=0, width=4 * WIDE)
        for w in range(1, WK):
            total = total + parts.load(SUM, w=w, width=4 * WIDE)
        deliver(0, 0, total, WIDE)


@ag.kernel(
    threads=64 * WAVES, waves=(WK, WM, WN), requires=NEEDS, computes=f"C[m, n] = sum({FACTORS}, k)", example=EXAMPLE
)
def matmul_direct(A: ag.In["M K", T], B: ag.In["N K", T], C: ag.Out["M N", T_OUT]):
    bm, bn = place(M, N)
    acc = partial_sums(A, B, bm, bn, K, 0, DEPTH * ag.cdiv(ag.cdiv(ag.cdiv(K, BK), WK), DEPTH))

    def deliver(row, column, total, near):
        C[bm * BM + row, bn * BN + column].store(total.to(T_OUT), width=min(2 * near, OUT), guard="shape")

    joined(acc, deliver)
    ag.check.covers(C)


@ag.kernel(threads=64 * WAVES, waves=(WK, WM, WN), requires=NEEDS, computes=f"W[s, m, n] = {PART}", example=EXAMPLE)
def split_direct(A: ag.In["M K", T], B: ag.In["N K", T], W: ag.Out[f"S={SPLITS} M N", f32]):
    s, bm, bn = ag.grid(SPLITS, ag.cdiv(M, BM), ag.cdiv(N, BN))
    steps = DEPTH * ag.cdiv(ag.cdiv(ag.cdiv(K, BK), WK * SPLITS), DEPTH)
    acc = partial_sums(A, B, bm, bn, K, s * steps, steps)

    def deliver(row, column, total, near):
        W[s, bm * BM + row, bn * BN + column].store(total, width=min(4 * near, 2 * OUT), guard="shape")

    joined(acc, deliver)
    ag.check.covers(W)
