import argus as ag
from argus import bf16, f32, i32

SIZE = 2**4096
