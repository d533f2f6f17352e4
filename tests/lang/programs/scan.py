"""Inclusive prefix sums of rows of 256 f32: four elements per lane, then lanes by doubling distances."""

import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")


@ag.kernel(threads=256, requires="M % 4 == 0", example=dict(M=8))
def scan(X: ag.In["M n=256", f32], Y: ag.Out["M n=256", f32]):
    row = 4 * ag.grid(M // 4) + ag.wave()
    x = X[row].load(ROW, width=16)
    for i in ag.unroll(3):
        x[i + 1] += x[i].without("n")
    total = x[3].without("n")  # of this lane's elements
    before = ag.where(ag.lane() >= 1, total.from_lane(ag.max(ag.lane() - 1, 0)), 0.0)
    for step in ag.unroll(6):
        d = 2**step
        before += ag.where(ag.lane() >= d, before.from_lane(ag.max(ag.lane() - d, 0)), 0.0)
    Y[row].store(x + before, width=16)
