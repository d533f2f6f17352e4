"""Paged gather: copy the pages of one sequence of a paged KV cache into contiguous memory, 16 rows of 128 per page."""

import argus as ag
from argus import bf16, i32

PAGE = 16
ONE = ag.Owner(t=256, x="t*0")
ROWS = ag.Owner(t=256, e=8, r="t//16", d="t%16*8 + e")


@ag.kernel(threads=256, example=dict(P=64, S=2, B=5))
def paged(cache: ag.In["P r=16 d=128", bf16], table: ag.In["S B", i32], out: ag.Out["S B r=16 d=128", bf16]):
    s, b = ag.grid(S, B)
    page = ag.as_index(table[s, b].load(ONE, width=4), 0, P - 1, name="page")
    out[s, b].store(cache[page].load(ROWS, width=16), width=16)
