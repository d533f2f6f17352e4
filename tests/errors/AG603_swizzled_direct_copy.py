import argus as ag
from argus import bf16, f32, i32

TILE = ag.Layout(row=(32, 128), col=(32, 4)).xor(col="row[0:3]")
ROWS = ag.Owner(t=256, p=4, row="p*8 + t//32", col="t%32")


@ag.kernel(threads=256)
def scale(x: ag.In["M N", f32]):
    tile = ag.shared(TILE, f32)
    x[0, 0].copy(tile, ROWS, width=4)
