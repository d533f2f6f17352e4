"""Top-1 routing: for every token the expert with the largest logit (the first of equals) and its probability."""

import argus as ag
from argus import LOG2E, f32, i32

ROW = ag.Owner(lane=64, e="lane")


@ag.kernel(threads=256, requires="T % 4 == 0", example=dict(T=8))
def route(logits: ag.In["T E=64", f32], expert: ag.Out["T", i32], weight: ag.Out["T", f32]):
    token = 4 * ag.grid(T // 4) + ag.wave()
    x = logits[token].load(ROW, width=4)
    top = x.max("e")
    first = ag.where(x == top, x.e, 64).min("e")
    total = ag.exp2((x - top) * LOG2E).sum("e")
    expert[token].store(first, width=4, guard=ag.lane() == 0)
    weight[token].store(ag.rcp(total), width=4, guard=ag.lane() == 0)
