"""K shared between workgroups that add their parts to C with atomics."""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

CASE = ag.knob(0, legal=tuple(range(7)), why="which variant")

FRAG = MMA.operand(wide=8)
SPLITS = 2


@ag.kernel(
    threads=64,
    requires="M % 32 == 0 and N % 32 == 0 and K >= 32 and K % 16 == 0"
    if CASE in (2, 4)
    else "M % 32 == 0 and N % 32 == 0 and K >= 32 and K % 32 == 0",
    computes="C[m, n] = C[m, n] + sum(A[m, k] * B[n, k], k)",
    example=dict(M=32, N=32, K=64),
)
def splitk(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.InOut["M N", f32]):
    s, bm, bn = ag.grid(SPLITS, M // 32, N // 32)
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    part = K // (16 * SPLITS)

    def multiply(acc, ks):
        a = A[bm * 32, 16 * ks].load(FRAG, width=16)
        b = B[bn * 32, 16 * ks].load(FRAG, width=16)
        for h in ag.unroll(2):
            acc = MMA(a[h], b[h], acc)
        return acc

    if CASE == 4:
        for ks in ag.range(K // 16):
            if ks % SPLITS == s:
                acc = multiply(acc, ks)
    elif CASE == 1:
        for ks in ag.range(s * part, ag.min((s + 1) * part + 1, K // 16)):
            acc = multiply(acc, ks)
    elif CASE == 5:
        for ks in ag.range(0, part):
            acc = multiply(acc, ks)
    else:
        for ks in ag.range(s * part, (s + 1) * part):
            acc = multiply(acc, ks)
    if CASE == 3:
        C[bm * 32, bn * 32].store(acc, width=4)
    elif CASE == 6:
        C[bn * 32, bm * 32].atomic_add(acc)
    else:
        C[bm * 32, bn * 32].atomic_add(acc)
