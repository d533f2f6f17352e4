# ruff: noqa: F722, F821, C408
"""Causal attention with heads of 64 elements, as plain as it gets: one wave computes 32 rows of one head.

H query heads of a batch entry B share its keys and values. The softmax keeps a running maximum and sum.
"""

import argus as ag
from argus import LOG2E, bf16, f32, inf
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

TASK = dict(
    family="attention",
    shapes=[dict(B=16, H=8, Rows=4096, Keys=4096)],
    held_out=[dict(B=2, H=4, Rows=512, Keys=512)],
    small=[dict(B=1, H=1, Rows=256, Keys=256)],
)

HEAD = MMA.operand(row="Rows", k="D")
KEY = MMA.operand(row="Keys", k="D")
VALUE = MMA.operand(row="D", k="Keys")
PRODUCT = MMA.acc(row="Keys", col="Rows")
RESULT = MMA.acc(row="D", col="Rows")
SCORE = "scale * sum(Q[b, h, i, e] * K[b, k, e], e)"
WEIGHT = f"where(k <= i, exp({SCORE} - max(where(k <= i, {SCORE}, -1.0e30), k)), 0)"


@ag.kernel(
    threads=64,
    requires="Rows % 32 == 0 and Keys % 32 == 0 and scale > 0",
    computes=f"Y[b, h, i, d] = sum({WEIGHT} * V[b, k, d], k) / sum({WEIGHT}, k)",
    example=dict(B=1, H=2, Rows=64, Keys=64),
)
def attend(
    Q: ag.In["B H Rows D=64", bf16],
    K: ag.In["B Keys D=64", bf16],
    V: ag.In["B Keys D=64", bf16],
    Y: ag.Out["B H Rows D=64", bf16],
    scale: f32,
):
    b, h, tile = ag.grid(B, H, Rows // 32)
    q = Q[b, h, 32 * tile].load(HEAD, tiles=dict(D=8), width=8)
    rows = dict(Rows=32 * tile)
    highest = ag.full(PRODUCT.per("Rows"), f32, -inf, at=rows)
    total = ag.zeros(PRODUCT.per("Rows"), f32, at=rows)
    y = ag.zeros(RESULT, f32, tiles=dict(D=2), at=rows)
    c = scale * LOG2E
    for t in ag.range(Keys // 32):
        x = ag.zeros(PRODUCT, f32, at=dict(Keys=32 * t, Rows=32 * tile))
        k = K[b, 32 * t].load(KEY, tiles=dict(D=8), width=8)
        for s in ag.unroll(8):
            x = ag.mfma(k[s], q[s], x)
        x = ag.where(x.Keys <= x.Rows, x * c, -inf)
        now = ag.max(highest, x.max("Keys"))
        w = ag.exp2(x - now)
        fade = ag.exp2(highest - now)
        highest = now
        total = total * fade + w.sum("Keys")
        y = y * fade
        wb = w.to(bf16)
        v = V[b, 32 * t].load(VALUE, tiles=dict(D=2, Keys=4), width=2)
        for d, n in ag.unroll(2, 4):
            y[d] = ag.mfma(v[d, n], wb.regs(4 * n, 4), y[d])
    Y[b, h].store((y / total).to(bf16), width=8)
