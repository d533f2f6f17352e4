"""flashinfer (AMD) #207: the exclusive or repeats after 8 rows, the lanes of one LDS phase read 16.

https://github.com/AMD-Ecosystem/flashinfer/pull/207: 8-byte reads of a tile of 128-byte rows, one row per lane.
"""

import argus as ag
from argus import bf16
from argus.gfx942 import mfma_16x16x16_bf16 as MMA

FIXED = ag.knob(0, legal=(0, 1), why="the repair")

ROWS = ag.Layout(d=(64, 128), chunk=(16, 8), e=(4, 2), n=("chunk", "e"))
LDS = ROWS.xor(chunk="d[0:4]") if FIXED else ROWS.xor(chunk="d[0:3]")
COPY = ag.Owner(p=4, t=256, e=4, d="p*16 + t//16", n="t%16*4 + e")
FRAG = MMA.operand(row="d", k="n")


@ag.kernel(threads=256, requires="M % 64 == 0", example=dict(M=64))
def values(A: ag.In["M n=64", bf16], B: ag.Out["M n=64", bf16]):
    start = 64 * ag.grid(M // 64)
    buffer = ag.shared(LDS, bf16)
    buffer.store(A[start].load(COPY, width=8), width=8)
    ag.barrier()
    rows = 16 * ag.wave()
    for part in ag.unroll(4):
        B[start + rows, 16 * part].store(buffer.load(FRAG, d=rows, n=16 * part, width=8), width=8)
    ag.check.bank_free(buffer)
