"""What a mixture of experts needs beside its two products (`fp8_gemm.py`): fp8 with block scales, and the last sum.

    quantise   blocks of 128 neighbours of a bf16 array: scale = largest / 240, values = array / scale in fp8
    combine    out[t] = sum over s of weight[t, s] * Y[slot[t, s]]: the rows a token's experts have left, weighted
    cleared    zeros, for layers that add into their result (`argus.bench.moe_aiter`)

`quantise` sees an array flat, whatever its shape: rows are multiples of 128, so a block never crosses them. A block of
zeros has the scale LEAST / 240. `combine` adds in the order of s, in f32: the same sum every time.
"""

import argus as ag
from argus import bf16, f32, fp8, i32

TOPK = ag.knob(4, legal=(1, 2, 3, 4, 5, 6, 7, 8), why="combine: experts of a token")
CHUNKS = ag.knob(2, legal=(1, 2, 4), why="quantise: 16-byte accesses of a thread")
THREADS = ag.knob(128, legal=(64, 128, 256), why="combine: threads of a workgroup, 8 elements each")

LARGEST = 240.0  # of fp8 (E4M3 FNUZ)
LEAST = 1e-30
SPAN = 16 * CHUNKS  # blocks of a workgroup
PART = ag.Owner(p=CHUNKS, t=256, e=8, b="p*16 + t//16", j="t%16*8 + e")
FLAT = ag.Owner(t=THREADS, e=8, n="t*8 + e")
ONE = ag.Owner(t=THREADS, x="t*0")
SCALE = "(maximum(max(abs(H[b, i]), i), 1e-30) / 240)"


@ag.kernel(
    threads=256,
    requires="B >= 1",
    computes=f"s[b] = {SCALE}; Q[b, j] = H[b, j] / {SCALE}",
    example=dict(B=100),
)
def quantise(H: ag.In["B j=128", bf16], Q: ag.Out["B j=128", fp8], s: ag.Out["B", f32]):
    start = SPAN * ag.grid(ag.cdiv(B, SPAN))
    x = H[start].load(PART, width=16).to(f32)
    largest = ag.max(ag.abs(x).max("j"), LEAST)
    Q[start].store((x * (LARGEST * ag.rcp(largest))).to(fp8), width=8)
    s[start].store(largest * (1.0 / LARGEST), width=4, guard=ag.thread() % 16 == 0)


@ag.kernel(
    threads=THREADS,
    requires="T >= 1 and N >= 1 and R >= 1 and N % 8 == 0",
    computes="out[t, n] = sum(weight[t, s] * Y[slot[t, s], n], s)",
    example=dict(T=3, R=20, N=256),
)
def combine(
    Y: ag.In["R N", bf16],
    slot: ag.In[f"T S={TOPK}", i32],
    weight: ag.In[f"T S={TOPK}", f32],
    out: ag.Out["T N", bf16],
):
    t, bn = ag.grid(T, ag.cdiv(N, 8 * THREADS))
    n0 = bn * 8 * THREADS
    total = ag.zeros(FLAT, f32)
    for s in range(TOPK):
        row = ag.as_index(slot[t, s].load(ONE, width=4), 0, R - 1, name=f"row{s}")
        w = weight[t, s].load(ONE, width=4).without()
        total = ag.fma(Y[row, n0].load(FLAT, width=16, guard="shape").to(f32), w, total)
    out[t, n0].store(total.to(bf16), width=16, guard="shape")


@ag.kernel(threads=256, requires="B >= 1", computes="out[b, j] = 0", example=dict(B=100))
def cleared(out: ag.Out["B j=128", bf16]):
    out[SPAN * ag.grid(ag.cdiv(B, SPAN))].store(ag.zeros(PART, f32).to(bf16), width=16)
