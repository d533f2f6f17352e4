import argus as ag
from argus import bf16, f32, i32


@ag.kernel(threads=64)
def first(x: ag.In["N", f32]):
    pass


@ag.kernel(threads=64)
def second(x: ag.In["N", f32]):
    pass
