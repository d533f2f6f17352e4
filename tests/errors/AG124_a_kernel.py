import argus as ag
from argus import f32
from argus.kernels.vadd import vadd as PART


@ag.kernel(threads=64, requires="N == 64", example=dict(N=64))
def double(x: ag.In["N", f32], y: ag.Out["N", f32]):
    v = x.load(PART, width=4)
    y.store(v + v, width=4)
