import argus as ag
from argus import bf16, f32, i32

for i in range(4):
    pass
