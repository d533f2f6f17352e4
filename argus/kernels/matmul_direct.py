"""Matrix product for small grids and few rows: C = A @ B.T, bf16 or f16, operands straight from memory to registers.

The waves of a workgroup share a tile of C and each takes its own part of K. No element is used by two waves, so nothing
goes through LDS: a lane loads the 16 bytes it multiplies. The loop has no barrier, and DEPTH k-steps of every wave are
on their way at once, which is what a grid that does not fill the machine needs. After the loop the waves' partial tiles
meet in LDS and each wave adds up and stores a share of them.

    M = 1 ... 64 rows of activations times weights [N, K]: BM = 16 ... 64, the weights are read once
    1024 x 1024 x 1024: 64 x 64 tiles

Rows past the end of a tensor are cut off by the buffer range, K past its end by a guard (KTAIL).
"""

import argus as ag
from argus import bf16, f16, f32
from argus.gfx942 import mfma_16x16x16_bf16, mfma_16x16x16_f16, mfma_32x32x8_bf16, mfma_32x32x8_f16

DTYPE = ag.knob("bf16", legal=("bf16", "f16"), why="element type of A, B and C")
BM = ag.knob(64, legal=(16, 32, 64, 128), why="rows of C per workgroup")
BN = ag.knob(64, legal=(16, 32, 64, 128), why="columns of C per workgroup")
WAVES = ag.knob(4, legal=(2, 4, 8), why="waves, each with a part of K")
INST = ag.knob(16, legal=(16, 32), why="matrix instruction: 16x16x16 or 32x32x8")
DEPTH = ag.knob(1, legal=(1, 2, 3, 4), why="k-steps of a wave on their way in registers")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access; rows must be multiples of it")
KTAIL = ag.knob(False, legal=(False, True), why="K is no multiple of 64: mask the last step")
XM = ag.knob(0, legal=(0, 1, 2, 4, 8), why="XCDs along M (8 // XM along N); 0: row-major workgroups")

BK = 64  # a whole line of 128 bytes per row
LEAST = WIDTH // 2  # elements per access
T = bf16 if DTYPE == "bf16" else f16
MMA = (
    (mfma_32x32x8_bf16 if INST == 32 else mfma_16x16x16_bf16)
    if DTYPE == "bf16"
    else (mfma_32x32x8_f16 if INST == 32 else mfma_16x16x16_f16)
)
TM, TN = BM // INST, BN // INST
KF = 512 // INST
FRAG = MMA.operand(wide=8)
ACC = MMA.acc(row="n", col="m")

# Partial tiles, 4 neighbouring n = 16 bytes; XOR of the chunk with the row spreads a wave's rows over the banks.
PARTS = ag.Layout(w=(WAVES, 4 * BM * BN), m=(BM, 4 * BN), chunk=(BN // 4, 16), e=(4, 4), n=("chunk", "e"))
SHARE = BM * BN // (64 * WAVES)  # elements a thread stores
assert SHARE >= 1, "every thread stores a part of the tile"
WIDE = min(4, SHARE)
SUM = ag.Owner(
    t=64 * WAVES,
    p=SHARE // WIDE,
    e=WIDE,
    m=f"(p*{64 * WAVES} + t)*{WIDE}//{BN}",
    n=f"(p*{64 * WAVES} + t)*{WIDE}%{BN} + e",
)

assert BM % INST == 0, "the tile is made of whole matrix instruction tiles"
assert BN % INST == 0, "the tile is made of whole matrix instruction tiles"


def place(M, N):
    """This workgroup's tile. Its number % 8 is its XCD; XCDs take every XM-th row and every (8 // XM)-th column."""
    if XM == 0:
        return ag.grid(ag.cdiv(M, BM), ag.cdiv(N, BN))
    y, z, x = ag.grid(ag.cdiv(M, BM * XM), ag.cdiv(N, BN * (8 // XM)), 8)
    return y * XM + x // (8 // XM), z * (8 // XM) + x % (8 // XM)


@ag.kernel(
    threads=64 * WAVES,
    requires=f"M >= 1 and N >= 1 and K >= 1 and N % {min(4, LEAST)} == 0 and K % {LEAST if KTAIL else BK} == 0",
    example=dict(M=64, N=128, K=512),
)
def matmul_direct(A: ag.In["M K", T], B: ag.In["N K", T], C: ag.Out["M N", T]):
    bm, bn = place(M, N)
    acc = ag.zeros(ACC, f32, tiles=dict(m=TM, n=TN))
    parts = ag.shared(PARTS.xor(chunk="m[0:2]"), f32)
    steps = DEPTH * ag.cdiv(ag.cdiv(ag.cdiv(K, BK), WAVES), DEPTH)
    first = ag.wave() * steps
    last = ag.cdiv(K, BK)

    def fetch(kt):
        inside = "shape" if KTAIL else kt < last
        a = [
            A[bm * BM + INST * i, kt * BK + KF * ks].load(FRAG, width=WIDTH, guard=inside)
            for i in range(TM)
            for ks in range(BK // KF)
        ]
        b = [
            B[bn * BN + INST * j, kt * BK + KF * ks].load(FRAG, width=WIDTH, guard=inside)
            for j in range(TN)
            for ks in range(BK // KF)
        ]
        return a, b

    def multiply(a, b):
        for ks, h, j, i in ag.unroll(BK // KF, 2, TN, TM):
            acc[i, j] = ag.mfma(b[j * (BK // KF) + ks][h], a[i * (BK // KF) + ks][h], acc[i, j])

    ahead = [fetch(first + d) for d in range(DEPTH)]
    for turn in ag.range(steps // DEPTH - 1):
        for d in range(DEPTH):
            with ag.schedule(mfma=2, buffer_load=1):
                a, b = ahead[d]
                multiply(a, b)
                ahead[d] = fetch(first + (turn + 1) * DEPTH + d)
    for d in range(DEPTH):
        a, b = ahead[d]
        multiply(a, b)

    parts.store(acc, w=ag.wave(), width=16)
    ag.barrier()
    total = parts.load(SUM, w=0, width=4 * WIDE)
    for w in range(1, WAVES):
        total = total + parts.load(SUM, w=w, width=4 * WIDE)
    C[bm * BM, bn * BN].store(total.to(T), width=min(2 * WIDE, WIDTH), guard="shape")
    ag.check.covers(C)
