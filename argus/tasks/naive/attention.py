"""Causal attention O = softmax(scale Q K.T) V in bf16, as plain as it gets: one wave computes 32 rows of one head.

G query heads share the keys and values of a batch entry Z. Every turn of the loop takes 32 keys, the masked ones too:
operands of both products come straight from global memory, and the softmax keeps a running maximum and sum.
"""

import argus as ag
from argus import LOG2E, bf16, f32, inf
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

TASK = dict(
    family="attention",
    shapes=[dict(Z=16, G=8, Sq=4096, Sk=4096)],
    held_out=[dict(Z=2, G=4, Sq=512, Sk=512)],
    small=[dict(Z=1, G=1, Sq=256, Sk=256)],
    library="attention.py",
)

QUERY = MMA.operand(row="Sq", k="D")
KEY = MMA.operand(row="Sk", k="D")
VALUE = MMA.operand(row="D", k="Sk")
SCORES = MMA.acc(row="Sk", col="Sq")
OUT = MMA.acc(row="D", col="Sq")
SCORE = "scale * sum(Q[z, g, q, e] * K[z, k, e], e)"
WEIGHT = f"where(k <= q, exp({SCORE} - max(where(k <= q, {SCORE}, -1.0e30), k)), 0)"


@ag.kernel(
    threads=64,
    requires="Sq % 32 == 0 and Sk % 32 == 0 and scale > 0",
    computes=f"O[z, g, q, d] = sum({WEIGHT} * V[z, k, d], k) / sum({WEIGHT}, k)",
    example=dict(Z=1, G=2, Sq=64, Sk=64),
)
def attention(
    Q: ag.In["Z G Sq D=128", bf16],
    K: ag.In["Z Sk D=128", bf16],
    V: ag.In["Z Sk D=128", bf16],
    O: ag.Out["Z G Sq D=128", bf16],
    scale: f32,
):
    z, g, block = ag.grid(Z, G, Sq // 32)
    q = Q[z, g, 32 * block].load(QUERY, tiles=dict(D=16), width=8)
    rows = dict(Sq=32 * block)
    top = ag.full(SCORES.per("Sq"), f32, -inf, at=rows)
    den = ag.zeros(SCORES.per("Sq"), f32, at=rows)
    o = ag.zeros(OUT, f32, tiles=dict(D=4), at=rows)
    factor = scale * LOG2E
    for j in ag.range(Sk // 32):
        s = ag.zeros(SCORES, f32, at=dict(Sk=32 * j, Sq=32 * block))
        k = K[z, 32 * j].load(KEY, tiles=dict(D=16), width=8)
        for ks in ag.unroll(16):
            s = ag.mfma(k[ks], q[ks], s)
        s = ag.where(s.Sk <= s.Sq, s * factor, -inf)
        new = ag.max(top, s.max("Sk"))
        p = ag.exp2(s - new)
        keep = ag.exp2(top - new)
        top = new
        den = den * keep + p.sum("Sk")
        o = o * keep
        pb = p.to(bf16)
        v = V[z, 32 * j].load(VALUE, tiles=dict(D=4, Sk=4), width=2)
        for dt, ns in ag.unroll(4, 4):
            o[dt] = ag.mfma(v[dt, ns], pb.regs(4 * ns, 4), o[dt])
    O[z, g].store((o / den).to(bf16), width=8)
