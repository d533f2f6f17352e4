import argus as ag
from argus import bf16, f32, i32

BM = ag.knob(64, legal=(64, 128))
assert BM % 128 == 0, "a wave needs 128 rows"
