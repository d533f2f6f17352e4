"""The matrix product with tiles that fill the chip: C = op(A) @ op(B), bf16 or f16, f32 accumulation, any M and N.

One tile of C per workgroup and one workgroup per compute unit: the tile is chosen so that there are just at most 304 of
them (256 x 224 at 4096 x 4096: 16 x 19 = 304), with edges in steps of two waves of 16 rows.

A k-step of both operands lies in LDS, the next one in registers. The products of a step are one line, cut in three, and
each piece has its memory accesses between its matrix instructions, no closer than their units take them:

    1. fragments are read just before they are multiplied, up to the last one of the step
    2. nobody reads any more: the next step goes from registers to LDS, and the one after it is fetched
    3. the next step is there: its first fragments are read

What it cannot do is what matmul.py, whose operands and layouts these are, cannot.
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
    DTYPE,
    EXAMPLE,
    FRAG,
    FRAGS,
    INST,
    KF,
    KTAIL,
    LEAST,
    MEANS,
    MOVE_A,
    MOVE_B,
    ROWS_A,
    ROWS_B,
    SUM,
    T_OUT,
    THREADS,
    TM,
    TN,
    WIDTH,
    WM,
    WN,
    T,
    activated,
    block,
    held,
    keep,
    lds,
    load,
    place,
)

BAND = ag.knob(
    0,
    legal=(0, 1, 2, 3, 4, 5, 6, 7, 8),
    why="each XCD has neighboring tiles, however many, in bands of so many rows (a divisor of all rows); 0: by XM",
)
STORE = ag.knob(
    0, legal=(0, 2, 4, 8), why="bytes per store of C; rows of C must be multiples of it; 0: as WIDTH, at most 8"
)
READ = ag.knob(3, legal=(0, 1, 2, 3, 4, 5, 6), why="16x16x16 instructions beside a fragment read; 0: in blocks")
WRITE = ag.knob(4, legal=(0, 1, 2, 3, 4, 5, 6, 7, 8), why="the same beside a write to LDS and a fetch; 0: in blocks")

OUT = STORE or min(8, WIDTH)  # bytes per store; four neighbouring n of a lane are 8
NEEDS = (
    f"M >= 1 and N >= 1 and K >= 1 and N % {OUT // 2} == 0"
    + f" and K % {(1 if A_T and B_T else LEAST) if KTAIL else BK} == 0"  # stored by k, rows of any number are whole
    + (f" and K <= {2**30}" if DTYPE == "fp8" else "")  # as far as two-byte elements reach
    + (f" and M % {LEAST} == 0" if A_T else "")
    + (f" and N % {LEAST} == 0" if B_T else "")
)
SLOT = INST // 16  # 32x32x8 takes twice the time of 16x16x16
PRODUCTS = FRAGS * TM * TN  # of a step; each is two matrix instructions, the halves of a fragment
READY = min(TM, max(1, 7 // (TN * SLOT)))  # rows of fragments read before a step begins: seven products hide a read
ROW_PASSES = ((0 if A_T else BM) + (0 if B_T else BN)) * 8 // THREADS  # accesses of 16 bytes by rows
TURNED = (A_T, held(BM, A_T)), (B_T, held(BN, B_T))
WRITES = sum([rows * BK // (THREADS * block(rows)[0]) for turned, rows in TURNED if turned])  # of what is turned
MOVED = ROW_PASSES + 2 * WRITES  # what is turned is fetched again when all of it has been written
LAST = 7  # products after the last read or write of a piece, before its barrier: the access has come through then


def pieces():
    """Where the line of products is cut: as the paces ask if there are enough products, else in that proportion."""
    first = LAST + (FRAGS * (TM + TN) - READY - TN) * max(READ, 1) // (2 * SLOT)
    second = MOVED * max(WRITE, 1) // (2 * SLOT) + LAST
    third = (READY + TN) * max(READ, 1) // (2 * SLOT)
    whole = max(first + second + third, PRODUCTS)
    written = first + second * WRITES // MOVED
    return first * PRODUCTS // whole, written * PRODUCTS // whole, (first + second) * PRODUCTS // whole


CUTS = pieces()


def pace(wanted):
    """Matrix instructions that follow each other; 0: the most a schedule has."""
    return (wanted + SLOT - 1) // SLOT if wanted else 64


def product(A, B, bm, bn, steps):
    """The tile's sum over so many k-steps; a wave holds its part."""
    wm, wn = ag.wave()
    sA, sB = ag.shared(lds(held(BM, A_T)), T), ag.shared(lds(held(BN, B_T)), T)
    acc = ag.zeros(ACC, f32, tiles=dict(m=TM, n=TN))

    def fetch(kt, ahead, turned=(False, True)):
        a = load(A, A_T, MOVE_A, BM, bm * BM, kt, steps) if A_T in turned else ahead[0]
        return a, load(B, B_T, MOVE_B, BN, bn * BN, kt, steps) if B_T in turned else ahead[1]

    def write(parts, turned=(False, True)):
        if A_T in turned:
            keep(sA, parts[0], A_T, BM)
        if B_T in turned:
            keep(sB, parts[1], B_T, BN)

    def rows(ks, some):
        return [sA.load(FRAG, row=INST * (TM * wm + i), k=KF * ks, width=16) for i in some]

    def columns(ks):
        return [sB.load(FRAG, row=INST * (TN * wn + j), k=KF * ks, width=16) for j in range(TN)]

    def first():
        """What is there when a step begins."""
        return columns(0), rows(0, range(READY))

    def rest(b, a):
        """All fragments of a step, those that are there first."""
        a = [*a, *rows(0, range(READY, TM))]
        for ks in range(1, FRAGS):
            b = [*b, *columns(ks)]
            a = [*a, *rows(ks, range(TM))]
        return b, a

    def multiply(b, a, line):
        """Products of the line: all columns of a row, then the next row; both halves of a sum follow each other, which
        keeps it in its registers."""
        for p in line:
            r, j = p // TN, p % TN
            for h in range(2):
                acc[r % TM, j] = ag.mfma(b[r // TM * TN + j][h], a[r][h], acc[r % TM, j])

    ahead = fetch(0, (0, 0))
    write(ahead)
    ahead = fetch(1, fetch(1, ahead, (True,)), (False,))  # in the order of the loop, or its waits are longer
    ag.barrier()
    b, a = first()
    for kt in ag.range(steps - 1):
        with ag.schedule(mfma=pace(READ), ds_read=1):
            b, a = rest(b, a)
            multiply(b, a, range(CUTS[0]))
        ag.barrier()  # this step has been read
        if WRITES:
            with ag.schedule(mfma=pace(WRITE), ds_write=1):
                write(ahead, (True,))
                multiply(b, a, range(CUTS[0], CUTS[1]))
        with ag.schedule(mfma=pace(WRITE), ds_write=1, buffer_load=1):
            ahead = fetch(kt + 2, ahead, (True,))
            write(ahead, (False,))
            ahead = fetch(kt + 2, ahead, (False,))
            multiply(b, a, range(CUTS[1], CUTS[2]))
        ag.barrier()  # the next one is there
        with ag.schedule(mfma=pace(READ), ds_read=1):
            next_b, next_a = first()
            multiply(b, a, range(CUTS[2], PRODUCTS))
        b, a = next_b, next_a
    with ag.schedule(mfma=pace(READ), ds_read=1):
        b, a = rest(b, a)
        multiply(b, a, range(PRODUCTS))
    return acc


def near(M, N):
    """This workgroup's tile."""
    if BAND == 0:
        return place(M, N)
    z, bn, y = ag.grid(ag.cdiv(M, BM * BAND), ag.cdiv(N, BN), BAND, order=ag.xcd(8))
    return z * BAND + y, bn


@ag.kernel(threads=THREADS, waves=(WM, WN), requires=NEEDS, computes=f"C[m, n] = {SUM}", example=EXAMPLE)
def matmul_tiles(A: ag.In[ROWS_A, T], B: ag.In[ROWS_B, T], C: ag.Out["M N", T_OUT]):
    bm, bn = near(M, N)
    wm, wn = ag.wave()
    acc = product(A, B, bm, bn, ag.cdiv(K, BK))
    row, column = bm * BM + INST * TM * wm, bn * BN + INST * TN * wn
    for j, i in ag.unroll(TN, TM):
        C[row, column].store(acc[i, j].to(T_OUT), width=OUT, guard="shape")


@ag.kernel(threads=THREADS, waves=(WM, WN), requires=NEEDS, computes=MEANS, example=EXAMPLE)
def linear_tiles(A: ag.In[ROWS_A, T], B: ag.In[ROWS_B, T], bias: ag.In["N", T_OUT], C: ag.Out["M N", T_OUT]):
    bm, bn = near(M, N)
    wm, wn = ag.wave()
    acc = product(A, B, bm, bn, ag.cdiv(K, BK))
    row, column = bm * BM + INST * TM * wm, bn * BN + INST * TN * wn
    shift = bias[column].load(ACC.per("n"), tiles=dict(n=TN), width=OUT, guard="shape").to(f32)
    for j, i in ag.unroll(TN, TM):  # tile by tile: the epilogue needs no registers beside the sums
        C[row, column].store(activated(acc[i, j] + shift[j]).to(T_OUT), width=OUT, guard="shape")
