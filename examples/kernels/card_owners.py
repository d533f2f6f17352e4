import argus as ag
from argus import f32

# Two owners of the same 64 x 64 tile: rows in, columns out. The axis names (r, c) are what ties them together.
IN = ag.Owner(p=4, t=256, e=4, r="p*16 + t//16", c="t%16*4 + e")
OUT = ag.Owner(p=4, t=256, e=4, c="p*16 + t//16", r="t%16*4 + e")
LDS = ag.Layout(r=(64, 260), c=(64, 4))  # 260 bytes a row, not 256: reads down a column meet all banks


@ag.kernel(threads=256, requires="M % 64 == 0 and N % 64 == 0", computes="Y[n, m] = X[m, n]", example=dict(M=64, N=128))
def transpose(X: ag.In["M N", f32], Y: ag.Out["N M", f32]):
    bm, bn = ag.grid(M // 64, N // 64)
    tile = ag.shared(LDS, f32)
    tile.store(X[64 * bm, 64 * bn].load(IN, width=16), r="r", c="c", width=4)
    ag.barrier()
    Y[64 * bn, 64 * bm].store(tile.load(OUT, width=4).order("p", "e"), width=16)
