import argus as ag
from argus import bf16, f32, i32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA



@ag.kernel(threads=256)
def scale(A: ag.In["M K", bf16], B: ag.In["N K", bf16]):
    a = A[0, 0].load(MMA.operand(wide=8), width=16)
    b = B[0, 0].load(MMA.operand(wide=8), width=16)
    acc = ag.zeros(MMA.acc(), f32)
    acc = ag.mfma(a, b, acc)
