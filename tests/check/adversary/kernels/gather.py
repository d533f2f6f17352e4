"""Pages of a cache gathered by a table."""

import argus as ag
from argus import f32, i32

CASE = ag.knob(0, legal=tuple(range(4)), why="which variant")

ONE = ag.Owner(t=64, x="t*0")
ROWS = ag.Owner(t=64, e=4, r="t//16", d="t%16*4 + e")


@ag.kernel(
    threads=64, requires="B >= 1 and P >= 1", computes="out[b, r, d] = cache[table[b], r, d]", example=dict(P=8, B=3)
)
def gather(cache: ag.In["P r=4 d=64", f32], table: ag.In["B", i32], out: ag.Out["B r=4 d=64", f32]):
    b = ag.grid(B)
    page = ag.as_index(table[ag.min(b + 1, B - 1) if CASE == 1 else b].load(ONE, width=4), 0, P - 1, name="page")
    if CASE == 2:
        out[b].store(cache[page, ag.lane() // 32].load(ROWS, width=16), width=16)
    elif CASE == 3:
        out[page].store(cache[page].load(ROWS, width=16), width=16)
    else:
        out[b].store(cache[page].load(ROWS, width=16), width=16)
