"""The matrix product of the library: C = op(A) @ op(B), bf16, f16 or fp8 (without scales, to bf16), f32 sums, any M, N.

One BM x BN tile of C per workgroup. A k-step of both operands lies in LDS, the next one in registers: while the matrix
instructions of step kt run, the fragments of its later parts are read, step kt + 1 goes from registers to LDS and step
kt + 2 is fetched. Small tiles leave room for several workgroups on a compute unit, which hide each other's waits.

    A is [M, K] or [K, M] (A_T), B is [N, K] or [K, N] (B_T): a stored-by-k operand is turned in registers on its way
    rows past the end of the tensor are cut off by the buffer range, columns by a guard; nothing is padded or copied
    K not a multiple of BK: KTAIL masks the elements past K, one compare per load

What it cannot do: sizes that are no multiple of WIDTH bytes along the contiguous axis of an operand (choose a smaller
WIDTH), fp8 stored by k, tiles of which the rows of an operand or of C span 2 GiB.
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
BM = ag.knob(256, legal=(16, 32, 64, 96, 128, 160, 192, 224, 256, 288), why="rows of C per workgroup")
BN = ag.knob(256, legal=(16, 32, 64, 96, 128, 160, 192, 224, 256, 288), why="columns of C per workgroup")
WM = ag.knob(2, legal=(1, 2, 4), why="waves along M")
WN = ag.knob(2, legal=(1, 2, 4), why="waves along N")
INST = ag.knob(32, legal=(16, 32), why="matrix instruction: 32x32x8 or 16x16x16, of fp8 with twice the k")
A_T = ag.knob(False, legal=(False, True), why="A is stored as [K, M]")
B_T = ag.knob(False, legal=(False, True), why="B is stored as [K, N]")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per global access; rows must be multiples of it")
KTAIL = ag.knob(False, legal=(False, True), why="K is no multiple of BK: mask the last step")
XM = ag.knob(0, legal=(0, 1, 2, 4, 8), why="XCDs along M (8 // XM along N); 0: row-major workgroups")
GROUP = ag.knob(1, legal=(1, 2, 4, 8), why="rows of tiles of an XCD that are walked together")
SPLITS = ag.knob(
    4, legal=(2, 3, 4, 5, 6, 7, 8, 16), why="kernel split: workgroups that share a tile of C, each with a part of K"
)
ACT = ag.knob("none", legal=("none", "relu", "silu", "gelu"), why="activation after the bias")
DEPTH = ag.knob(
    1, legal=(0, 1, 2, 3, 4, 5), why="k-steps on their way in registers; more hide the memory of small grids; 0: none"
)
STAGES = ag.knob(1, legal=(1, 2), why="k-steps in LDS; with 2 a step has one barrier instead of two")
STAGGER = ag.knob(
    0,
    legal=(0, 1, 2, 4, 8),
    why="k-steps between the starts of neighbouring XCDs, which then wrap around; 0: all start at 0",
)
SWIZZLE = ag.knob(True, legal=(True, False), why="off: bank conflicts, for comparison")
INTERLEAVE = ag.knob(True, legal=(True, False), why="off: memory and matrix instructions in blocks, for comparison")

T, T_OUT = {"bf16": (bf16, bf16), "f16": (f16, f16), "fp8": (fp8, bf16)}[DTYPE]
MMA = {
    "bf16": {16: mfma_16x16x16_bf16, 32: mfma_32x32x8_bf16},
    "f16": {16: mfma_16x16x16_f16, 32: mfma_32x32x8_f16},
    "fp8": {16: mfma_16x16x32_fp8_fp8, 32: mfma_32x32x16_fp8_fp8},
}[DTYPE][INST]
E = 16 if DTYPE == "fp8" else 8  # elements of 16 bytes
BK = 8 * E  # a row of 128 bytes covers all 32 banks
THREADS = 64 * WM * WN
TM, TN = BM // (WM * INST), BN // (WN * INST)  # matrix instruction tiles per wave
KF = 64 * E // INST  # k of one fragment: a lane's 16 bytes feed two instructions
FRAGS = BK // KF
ACC = MMA.acc(row="n", col="m")
FRAG = MMA.operand(wide=E)

PACE = 1 if INTERLEAVE else 16  # off: that many times the ratio follow each other

assert DEPTH % STAGES == 0, "with two stages in LDS, DEPTH is even: a turn ends where it started"
assert STAGGER == 0 or DEPTH == 1 or not (A_T or B_T or KTAIL), "staggered, turns end at the start: plain loads only"
assert DTYPE != "fp8" or not (A_T or B_T), "operands stored by k are turned in pairs of bytes, not byte by byte"
assert BM % (WM * INST) == 0, "every wave takes whole rows of matrix instruction tiles"
assert BN % (WN * INST) == 0, "every wave takes whole columns of matrix instruction tiles"


def lds(rows):
    """Rows of 128 bytes; XOR of the 16-byte chunk with the row keeps writes and fragment reads free of conflicts."""
    plain = ag.Layout(row=(rows, 128), chunk=(8, 16), e=(E, 16 // E), k=("chunk", "e"))
    return plain.xor(chunk="row[0:3]").xor(chunk="row[3:6]") if SWIZZLE else plain


def by_row(rows):
    """Stored by rows of k: 8 lanes x 16 bytes move one row."""
    assert rows * 8 % THREADS == 0, "the workgroup moves a tile in whole passes"
    return ag.Owner(p=rows * 8 // THREADS, t=THREADS, e=E, row=f"p*{THREADS // 8} + t//8", k=f"t%8*{E} + e")


def held(rows, turned):
    """Rows of an operand in LDS: stored by k, up to a power of two; those past the tile are not multiplied."""
    return min([size for size in (16, 32, 64, 128, 256, 512) if size >= rows]) if turned else rows


def block(rows):
    """Of an operand stored by k, a thread moves this many neighbouring k of so many neighbouring rows."""
    rows = held(rows, True)
    e = 8 if rows >= THREADS else 4
    i = rows * BK // (THREADS * e)
    assert i in (2, 4, 8), "a thread turns 2, 4 or 8 neighbouring k"
    return i, e


def by_k(rows):
    """Stored by k: the block is turned in registers."""
    i, e = block(rows)
    wide = held(rows, True) // e
    return ag.Owner(t=THREADS, i=i, e=e, k=f"t//{wide}*{i} + i", row=f"t%{wide}*{e} + e")


MOVE_A, MOVE_B = by_k(BM) if A_T else by_row(BM), by_k(BN) if B_T else by_row(BN)


def place(M, N):
    """This workgroup's tile. Its number % 8 is its XCD; XCDs take every XM-th row and every (8 // XM)-th column."""
    if XM == 0:
        return ag.grid(ag.cdiv(M, BM), ag.cdiv(N, BN))
    z, y, x = ag.grid(ag.cdiv(M, BM * XM * GROUP), ag.cdiv(N, BN * (8 // XM)), 8 * GROUP)
    return (z * GROUP + x // 8) * XM + x % 8 // (8 // XM), y * (8 // XM) + x % (8 // XM)


def load(X, turned, move, rows, start, kt, last, batch=()):
    """A k-step of an operand to registers; zeros past the last row and past K. `batch`: which matrix, if X has several;
    rows past its end are those of the next one, so a mask cuts them off."""
    if turned:
        corner = X[batch[0], kt * BK, start] if len(batch) else X[kt * BK, start]
        return corner.load(move, width=min(WIDTH, 2 * block(rows)[1]), guard="shape")
    corner = X[batch[0], start, kt * BK] if len(batch) else X[start, kt * BK]
    return corner.load(move, width=WIDTH, guard="shape" if KTAIL or len(batch) else kt < last)


def keep(buffer, part, turned, rows):
    """A k-step from registers to LDS, k neighbouring."""
    if turned:
        buffer.store(part.order("e", "i"), width=2 * block(rows)[0])
    else:
        buffer.store(part, width=16)


def whole_turns(steps):
    """Steps rounded up to whole turns of DEPTH; what is beyond K multiplies zeros."""
    return DEPTH * ag.cdiv(steps, DEPTH) if DEPTH else steps


def product(A, B, bm, bn, spans, of_a=(), of_b=()):
    """The tile's sum over `spans` of k-steps (first, steps in whole turns, end of data); a wave holds its part. `of_a`,
    `of_b`: the matrix of a batch."""
    wm, wn = ag.wave()
    sA = [ag.shared(lds(held(BM, A_T)), T) for s in range(STAGES)]
    sB = [ag.shared(lds(held(BN, B_T)), T) for s in range(STAGES)]
    acc = ag.zeros(ACC, f32, tiles=dict(m=TM, n=TN))

    def fetch(kt, end):
        return load(A, A_T, MOVE_A, BM, bm * BM, kt, end, of_a), load(B, B_T, MOVE_B, BN, bn * BN, kt, end, of_b)

    def write(parts, stage=0):
        keep(sA[stage], parts[0], A_T, BM)
        keep(sB[stage], parts[1], B_T, BN)

    def read_a(ks, stage=0):
        return [sA[stage].load(FRAG, row=INST * (TM * wm + i), k=KF * ks, width=16) for i in range(TM)]

    def read_b(ks, stage=0):
        return [sB[stage].load(FRAG, row=INST * (TN * wn + j), k=KF * ks, width=16) for j in range(TN)]

    def multiply(a, b, halves=(0, 1)):
        for h in halves:
            for j, i in ag.unroll(TN, TM):
                acc[i, j] = ag.mfma(b[j][h], a[i][h], acc[i, j])

    def walk(first, steps, end):
        write(fetch(first, end))
        ahead = [fetch(first + 1 + d, end) for d in range(DEPTH)]
        ag.barrier()
        a0, b0 = read_a(0), read_b(0)
        for turn in ag.range(steps // DEPTH - 1):
            for d in range(DEPTH):
                coming = first + turn * DEPTH + d + 1 + DEPTH
                if STAGES == 2:
                    with ag.schedule(mfma=PACE, ds_read=PACE, ds_write=PACE, buffer_load=PACE):
                        a = [a0, *[read_a(ks, d % 2) for ks in range(1, FRAGS)]]
                        b = [b0, *[read_b(ks, d % 2) for ks in range(1, FRAGS)]]
                        write(ahead[d], (d + 1) % 2)
                        ahead[d] = fetch(coming, end)
                        for ks in range(FRAGS - 1):
                            multiply(a[ks], b[ks])
                    ag.barrier()  # this step has been read and the next one is there
                    with ag.schedule(mfma=2 * PACE, ds_read=PACE):
                        a0, b0 = read_a(0, (d + 1) % 2), read_b(0, (d + 1) % 2)
                        multiply(a[FRAGS - 1], b[FRAGS - 1])
                elif INST == 32:
                    with ag.schedule(mfma=2 * PACE, ds_read=PACE):  # two matrix instructions hide one 16-byte read
                        a1, b1, a2 = read_a(1), read_b(1), read_a(2)
                        multiply(a0, b0)
                    with ag.schedule(mfma=2 * PACE, ds_read=PACE):
                        b2, a3, b3 = read_b(2), read_a(3), read_b(3)
                        multiply(a1, b1)
                    ag.barrier()  # this step has been read
                    with ag.schedule(mfma=2 * PACE, ds_write=PACE, buffer_load=PACE):
                        write(ahead[d])
                        ahead[d] = fetch(coming, end)
                        multiply(a2, b2)
                    ag.barrier()  # the next one is there
                    with ag.schedule(mfma=2 * PACE, ds_read=PACE):
                        a0, b0 = read_a(0), read_b(0)
                        multiply(a3, b3)
                else:
                    with ag.schedule(mfma=4 * PACE, ds_read=PACE):  # 16x16x16 takes half the time of 32x32x8
                        a1, b1 = read_a(1), read_b(1)
                        multiply(a0, b0)
                    ag.barrier()
                    with ag.schedule(mfma=4 * PACE, ds_write=PACE, buffer_load=PACE):
                        write(ahead[d])
                        ahead[d] = fetch(coming, end)
                        multiply(a1, b1, (0,))
                    ag.barrier()
                    with ag.schedule(mfma=4 * PACE, ds_read=PACE):
                        a0, b0 = read_a(0), read_b(0)
                        multiply(a1, b1, (1,))
        for d in range(DEPTH):
            for ks in range(FRAGS):
                multiply(a0, b0)
                if ks < FRAGS - 1:
                    a0, b0 = read_a(ks + 1, d % STAGES), read_b(ks + 1, d % STAGES)
            if d < DEPTH - 1:
                if STAGES == 1:
                    ag.barrier()
                write(ahead[d], (d + 1) % STAGES)
                ag.barrier()
                a0, b0 = read_a(0, (d + 1) % STAGES), read_b(0, (d + 1) % STAGES)

    def walk_plainly(first, steps, end):
        """One step after the other, nothing ahead."""
        for step in ag.range(steps):
            write(fetch(first + step, end))
            ag.barrier()
            for ks in range(FRAGS):
                multiply(read_a(ks), read_b(ks))
            ag.barrier()

    for number, span in enumerate(spans):
        if number:
            ag.barrier()  # the span before has been read
        if DEPTH:
            walk(*span)
        else:
            walk_plainly(*span)
    return acc


def spans(bm, bn, K):
    """All k-steps from 0; staggered, from this XCD's start to the end and then up to the start."""
    last = ag.cdiv(K, BK)
    if STAGGER == 0:
        return [(0, whole_turns(last), last)]
    along = XM if XM else 1
    xcd = bm % along * (8 // along) + bn % (8 // along)
    start = 1 + xcd * STAGGER % (last - 1)
    return [(start, whole_turns(last - start), last), (0, whole_turns(start), start)]


def activated(x):
    """The activation; gelu in its tanh form, which is x times a sigmoid."""
    if ACT == "relu":
        return ag.where(x < 0.0, 0.0, x)  # NaN stays, which ag.max would drop
    if ACT == "silu":
        return x * ag.rcp(1.0 + ag.exp2(x * -ag.LOG2E))
    if ACT == "gelu":
        return x * ag.rcp(1.0 + ag.exp2((x + x * x * x * 0.044715) * (-1.5957691216057308 * ag.LOG2E)))
    return x


ROWS_A = "K M" if A_T else "M K"
ROWS_B = "K N" if B_T else "N K"
FACTORS = f"A[{'k, m' if A_T else 'm, k'}] * B[{'k, n' if B_T else 'n, k'}]"
SUM = f"sum({FACTORS}, k)"
LEAST = WIDTH * E // 16  # elements per access of an operand
NEEDS = (
    f"M >= 1 and N >= 1 and K >= {1 if STAGGER == 0 else 2 * BK} and N % {min(4, WIDTH // 2)} == 0"
    + f" and K % {(1 if A_T and B_T else LEAST) if KTAIL else BK} == 0"  # stored by k, rows of any number are whole
    + (f" and K <= {2**30}" if E == 16 else "")  # as far as two-byte elements reach: K in whole turns fits 32 bits
    + (f" and M % {LEAST} == 0" if A_T else "")
    + (f" and N % {LEAST} == 0" if B_T else "")
)
LINEAR = f"{SUM} + bias[n]"
CUBE = f"({LINEAR}) * ({LINEAR}) * ({LINEAR})"
MEANS = {
    "none": f"C[m, n] = {LINEAR}",
    "relu": f"C[m, n] = maximum({LINEAR}, 0)",
    "silu": f"C[m, n] = ({LINEAR}) / (1 + exp(-({LINEAR})))",
    "gelu": f"C[m, n] = ({LINEAR}) / (1 + exp(-1.5957691216057308 * ({LINEAR} + 0.044715 * {CUBE})))",
}[ACT]
STEPS = f"((K + {BK - 1}) // {BK} + {SPLITS - 1}) // {SPLITS}"
LONG = f"{BK * DEPTH} * (({STEPS} + {DEPTH - 1}) // {DEPTH})" if DEPTH else f"{BK} * ({STEPS})"  # a part of K
PART = f"sum(where(k >= s * {LONG}, 1, 0) * where(k < (s + 1) * {LONG}, 1, 0) * {FACTORS}, k)"
EXAMPLE = dict(M=256, N=256, K=256)


@ag.kernel(threads=THREADS, waves=(WM, WN), requires=NEEDS, computes=f"C[m, n] = {SUM}", example=EXAMPLE)
def matmul(A: ag.In[ROWS_A, T], B: ag.In[ROWS_B, T], C: ag.Out["M N", T_OUT]):
    bm, bn = place(M, N)
    wm, wn = ag.wave()
    acc = product(A, B, bm, bn, spans(bm, bn, K))
    row, column = bm * BM + INST * TM * wm, bn * BN + INST * TN * wn
    for j, i in ag.unroll(TN, TM):
        C[row, column].store(acc[i, j].to(T_OUT), width=min(8, WIDTH), guard="shape")


@ag.kernel(threads=THREADS, waves=(WM, WN), requires=NEEDS, computes=MEANS, example=EXAMPLE)
def linear(A: ag.In[ROWS_A, T], B: ag.In[ROWS_B, T], bias: ag.In["N", T_OUT], C: ag.Out["M N", T_OUT]):
    bm, bn = place(M, N)
    wm, wn = ag.wave()
    acc = product(A, B, bm, bn, spans(bm, bn, K))
    row, column = bm * BM + INST * TM * wm, bn * BN + INST * TN * wn
    shift = bias[column].load(ACC.per("n"), tiles=dict(n=TN), width=min(8, WIDTH), guard="shape").to(f32)
    for j, i in ag.unroll(TN, TM):  # tile by tile: the epilogue needs no registers beside the sums
        C[row, column].store(activated(acc[i, j] + shift[j]).to(T_OUT), width=min(8, WIDTH), guard="shape")


@ag.kernel(threads=THREADS, waves=(WM, WN), requires=NEEDS, computes=f"W[s, m, n] = {PART}", example=EXAMPLE)
def split(A: ag.In[ROWS_A, T], B: ag.In[ROWS_B, T], W: ag.Out[f"S={SPLITS} M N", f32]):
    s, bm, bn = ag.grid(SPLITS, ag.cdiv(M, BM), ag.cdiv(N, BN))
    wm, wn = ag.wave()
    steps = whole_turns(ag.cdiv(ag.cdiv(K, BK), SPLITS))
    acc = product(A, B, bm, bn, [(s * steps, steps, ag.cdiv(K, BK))])
    W[s, bm * BM + INST * TM * wm, bn * BN + INST * TN * wn].store(acc, width=min(16, 2 * WIDTH), guard="shape")
    ag.check.covers(W)
