import argus as ag
from argus import f32, i32

ONE = ag.Owner(t=64, z="t*0")
PART = ag.Owner(lane=64, n="lane")


@ag.kernel(threads=64, requires="N % 64 == 0 and M % 64 == 0", example=dict(N=64, M=64))
def gather(table: ag.In["N", i32], x: ag.In["M", f32], y: ag.Out["N", f32]):
    b = ag.grid(N // 64)
    first = 0
    if b > 0:
        first = ag.as_index(table[b].load(ONE, width=4), 0, M - 64)
    y[64 * b].store(x[first].load(PART, width=4), width=4)
