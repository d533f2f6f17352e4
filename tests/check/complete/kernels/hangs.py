"""Kernels that once took the checker for ever, and their like: each ends in seconds, with a right verdict."""

import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

CASE = ag.knob(0, legal=tuple(range(8)), why="which variant")

FOUR = ag.Owner(t=256, e=4, i="t*4 + e")
ONE = ag.Owner(t=256, i="t")
ROW = ag.Owner(t=64, e=4, c="t*4 + e")
LINE = ag.Owner(t=256, c="t")
TILE = ag.Layout(c=(256, 4))


@ag.kernel(threads=256, computes="y[i] = x[i]", example=dict(N=4096))
def far(x: ag.In["N", f32], y: ag.Out["N", f32]):
    start = 1024 * ag.grid(ag.cdiv(N, 1024))
    if CASE == 0:
        v = x[start].load(FOUR, width=16) + x[start + 2**30].load(FOUR, width=16)
    elif CASE == 1:
        v = x[start].load(FOUR, width=4) + x[start + 2**30].load(FOUR, width=4, guard="shape")
    elif CASE == 2:
        v = x[start].load(FOUR, width=16) + x[start + 2**29].load(FOUR, width=16)
    elif CASE == 3:
        v = ag.max(x[start].load(FOUR, width=16), x[start + 2**30].load(FOUR, width=16))
    elif CASE == 4:
        v = x[start].load(FOUR, width=16)
        for k in ag.unroll(8):
            v = v + x[start + 2**20 * (k + 1)].load(FOUR, width=16, guard=ag.lane() < 0)
    elif CASE == 5:
        v = x[start].load(FOUR, width=16) + x[2**30 - start].load(FOUR, width=4) * 0.0
    elif CASE == 6:
        v = x[start].load(FOUR, width=16) + (x[2**28 * ag.thread()].load(ONE, width=4) * 0.0).without()
    else:
        v = ag.zeros(FOUR, f32)
        for k in ag.range(2):
            v = v + x[start + 2**30 * k].load(FOUR, width=16)
    y[start].store(v, width=16)


@ag.kernel(threads=64, computes="y[n, c] = x[n, c]", example=dict(N=70))
def rows(x: ag.In["N c=256", f32], y: ag.Out["N c=256", f32]):
    if CASE == 0:
        b = ag.grid(ag.cdiv(N, 16))
        for r in ag.range(0, 16):
            y[r + 16 * b].store(x[r + 16 * b].load(ROW, width=16, guard=r + 16 * b < N), width=16, guard=r + 16 * b < N)
    elif CASE == 1:
        b = ag.grid(8)
        for r in ag.range(0, N, 8):
            if r + b < N:
                y[r + b].store(x[r + b].load(ROW, width=16), width=16)
    elif CASE == 2:
        b = ag.grid(8)
        for r in ag.range(0, N, 8):
            y[r + b].store(x[r + b].load(ROW, width=16, guard=r + b < N), width=16, guard=r + b < N)
    elif CASE == 3:
        b = ag.grid(8)
        per = ag.cdiv(N, 8)
        for r in ag.range(per):
            if per * b + r < N:
                y[per * b + r].store(x[per * b + r].load(ROW, width=16), width=16)
    elif CASE == 4:
        b = ag.grid(8)
        per = ag.cdiv(N, 8)
        for r in ag.range(per * b, ag.min(per * b + per, N)):
            y[r].store(x[r].load(ROW, width=16), width=16)
    elif CASE == 5:
        b = ag.grid(N)
        for r in ag.range(N):
            if r + b < N:
                y[r].store(x[r].load(ROW, width=16), width=16, guard=b == 0)
    elif CASE == 6:
        b = ag.grid(8)
        for r in ag.range(0, N, 8):
            if r + b < N:
                v = x[r + b].load(ROW, width=16)
            else:
                v = ag.zeros(ROW, f32)
            y[r + b].store(v, width=16)
    else:
        b = ag.grid(ag.cdiv(N, 16))
        for q in ag.range(4):
            for r in ag.range(4):
                if 16 * b + 4 * q + r < N:
                    y[16 * b + 4 * q + r].store(x[16 * b + 4 * q + r].load(ROW, width=16), width=16)


@ag.kernel(threads=64, computes="y[n] = sum(x[n, c], c)", example=dict(N=70))
def row_sums(x: ag.In["N c=256", f32], y: ag.Out["N", f32]):
    b = ag.grid(8)
    if CASE == 0:
        for r in ag.range(b, N, 8):
            y[r].store(x[r].load(ROW, width=16).sum("c"), width=4, guard=ag.lane() == 0)
    else:
        for r in ag.range(0, N, 8):
            if r + b < N:
                y[r + b].store(x[r + b].load(ROW, width=16).sum("c"), width=4, guard=ag.lane() == 0)


FRAG = MMA.operand(wide=8)
LDS = ag.Layout(row=(64, 32), chunk=(2, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:1]")
COPY = ag.Owner(t=64, p=2, e=8, row="p*32 + t//2", k="t%2*8 + e")


@ag.kernel(
    threads=64,
    requires="M % 64 == 0 and N % 64 == 0 and K % 16 == 0",
    computes="C[m, n] = sum(A[m, k] * B[n, k], k)",
    example=dict(M=64, N=64, K=64),
)
def product(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["M N", f32]):
    bm, bn = ag.grid(M // 64, N // 64)
    T = K // 16
    ring = ag.ring(3, a=(LDS, bf16), b=(LDS, bf16))
    acc = ag.zeros(MMA.acc(row="n", col="m"), f32, tiles=dict(m=2, n=2))

    def fetch(slot, t):
        ring[slot].a.store(A[64 * bm, 16 * t].load(COPY, width=16), width=16)
        ring[slot].b.store(B[64 * bn, 16 * t].load(COPY, width=16), width=16)

    if CASE < 4:
        fetch(0, 0)
        if CASE == 0 or CASE == 2:
            fetch(1, 1)
        else:
            if T > 1:
                fetch(1, 1)
    else:
        ra = A[64 * bm, 0].load(COPY, width=16)
        rb = B[64 * bn, 0].load(COPY, width=16)
        na = A[64 * bm, 16].load(COPY, width=16)
        nb = B[64 * bn, 16].load(COPY, width=16)
    for t in ag.range(T):
        if CASE >= 4:
            ring[t].a.store(ra, width=16)
            ring[t].b.store(rb, width=16)
            ra = na
            rb = nb
            if t + 2 < T:
                na = A[64 * bm, 16 * (t + 2)].load(COPY, width=16)
                nb = B[64 * bn, 16 * (t + 2)].load(COPY, width=16)
        ag.barrier()
        if CASE == 0 or CASE == 1:
            if t + 2 < T:
                fetch(t + 2, t + 2)
        a = [ring[t].a.load(FRAG, row=32 * i, width=16) for i in range(2)]
        b = [ring[t].b.load(FRAG, row=32 * i, width=16) for i in range(2)]
        for i, j in ag.unroll(2, 2):
            for h in range(2):
                acc[i, j] = ag.mfma(b[j][h], a[i][h], acc[i, j])
        if CASE == 2 or CASE == 3:
            if t + 2 < T:
                fetch(t + 2, t + 2)
    C[64 * bm, 64 * bn].store(acc, width=16)
