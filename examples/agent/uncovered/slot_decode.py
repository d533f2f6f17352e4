"""Decode attention over a cache of keys and values in bf16, as plain as it gets: one wave computes one request.

The keys of request b are K[slot[b]], and the first length[b] of them count. 32 query heads share them. Every turn
takes 32 keys, also those past the end; operands come straight from global memory.
"""

import argus as ag
from argus import LOG2E, bf16, f32, i32, inf
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

TASK = dict(
    family="decode",
    shapes=[dict(B=304, P=384, S=2048)],
    held_out=[dict(B=5, P=7, S=288)],
    small=[dict(B=3, P=4, S=128)],
)

QUERY = MMA.operand(row="G", k="D")
KEY = MMA.operand(row="S", k="D")
VALUE = MMA.operand(row="D", k="S")
SCORES = MMA.acc(row="S", col="G")
OUT = MMA.acc(row="D", col="G")
ONE = ag.Owner(lane=64, x="lane*0")
SCORE = "scale * sum(Q[b, g, e] * K[slot[b], k, e], e)"
WEIGHT = f"where(k < length[b], exp({SCORE} - max(where(k < length[b], {SCORE}, -1.0e30), k)), 0)"


@ag.kernel(
    threads=64,
    requires="B >= 1 and P >= 1 and S >= 32 and S <= 1048576 and S % 32 == 0 and scale > 0",
    computes=f"O[b, g, d] = sum({WEIGHT} * V[slot[b], k, d], k) / sum({WEIGHT}, k)",
    example=dict(B=2, P=8, S=96),
)
def slot_decode(
    Q: ag.In["B G=32 D=128", bf16],
    K: ag.In["P S D=128", bf16],
    V: ag.In["P S D=128", bf16],
    slot: ag.In["B", i32],
    length: ag.In["B", i32],
    O: ag.Out["B G=32 D=128", bf16],
    scale: f32,
):
    b = ag.grid(B)
    n = ag.as_index(length[b].load(ONE, width=4), 1, S, name="length")
    here = ag.as_index(slot[b].load(ONE, width=4), 0, P - 1, name="slot")
    q = Q[b].load(QUERY, tiles=dict(D=16), width=8)
    top = ag.full(SCORES.per("G"), f32, -inf)
    den = ag.zeros(SCORES.per("G"), f32)
    o = ag.zeros(OUT, f32, tiles=dict(D=4))
    factor = scale * LOG2E
    for t in ag.range(S // 32):
        s = ag.zeros(SCORES, f32)
        k = K[here, 32 * t].load(KEY, tiles=dict(D=16), width=8)
        for ks in ag.unroll(16):
            s = ag.mfma(k[ks], q[ks], s)
        s = ag.where(32 * t + s.S < n, s * factor, -inf)
        new = ag.max(top, s.max("S"))
        p = ag.exp2(s - new)
        keep = ag.exp2(top - new)
        top = new
        den = den * keep + p.sum("S")
        o = o * keep
        pb = p.to(bf16)
        v = V[here, 32 * t].load(VALUE, tiles=dict(D=4, S=4), width=2)
        for dt, ns in ag.unroll(4, 4):
            o[dt] = ag.mfma(v[dt, ns], pb.regs(4 * ns, 4), o[dt])
    O[b].store((o / den).to(bf16), width=8)
