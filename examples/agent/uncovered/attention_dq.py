"""Backward of causal attention, the gradient of the queries, as plain as it gets: one wave computes 32 rows.

    P = exp(scale Q K.T - L),   dS = P (dO V.T - delta),   dQ = scale dS K

L is the logarithm of the forward pass's sums, delta the sum of dO O by row. G query heads share the keys and values of
a batch entry Z. Every turn takes 32 keys, the masked ones too; operands come straight from global memory.
"""

import argus as ag
from argus import LOG2E, bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

TASK = dict(
    family="attention_backward",
    shapes=[dict(Z=8, G=4, Sq=2048, Sk=2048)],
    held_out=[dict(Z=2, G=2, Sq=512, Sk=512)],
    small=[dict(Z=1, G=1, Sq=256, Sk=256)],
)

ROWS = MMA.operand(row="Sq", k="D")
KEYS = MMA.operand(row="Sk", k="D")
TURNED = MMA.operand(row="D", k="Sk")
SCORES = MMA.acc(row="Sk", col="Sq")
OUT = MMA.acc(row="D", col="Sq")
P = "where(k <= q, exp(scale * sum(Q[z, g, q, e] * K[z, k, e], e) - L[z, g, q]), 0)"


@ag.kernel(
    threads=64,
    requires="Sq % 32 == 0 and Sk % 32 == 0 and scale > 0",
    computes=f"dQ[z, g, q, d] = scale * sum({P} * (sum(dO[z, g, q, e] * V[z, k, e], e) - delta[z, g, q]) * "
    "K[z, k, d], k)",
    example=dict(Z=1, G=2, Sq=64, Sk=64),
)
def attention_dq(
    Q: ag.In["Z G Sq D=128", bf16],
    K: ag.In["Z Sk D=128", bf16],
    V: ag.In["Z Sk D=128", bf16],
    dO: ag.In["Z G Sq D=128", bf16],
    L: ag.In["Z G Sq", f32],
    delta: ag.In["Z G Sq", f32],
    dQ: ag.Out["Z G Sq D=128", bf16],
    scale: f32,
):
    z, g, block = ag.grid(Z, G, Sq // 32)
    q = Q[z, g, 32 * block].load(ROWS, tiles=dict(D=16), width=8)
    do = dO[z, g, 32 * block].load(ROWS, tiles=dict(D=16), width=8)
    top = L[z, g, 32 * block].load(SCORES.per("Sq"), width=4)
    off = delta[z, g, 32 * block].load(SCORES.per("Sq"), width=4)
    dq = ag.zeros(OUT, f32, tiles=dict(D=4))
    for j in ag.range(Sk // 32):
        s = ag.zeros(SCORES, f32)
        dp = ag.zeros(SCORES, f32)
        k = K[z, 32 * j].load(KEYS, tiles=dict(D=16), width=8)
        v = V[z, 32 * j].load(KEYS, tiles=dict(D=16), width=8)
        for ks in ag.unroll(16):
            s = ag.mfma(k[ks], q[ks], s)
            dp = ag.mfma(v[ks], do[ks], dp)
        p = ag.where(32 * j + s.Sk <= 32 * block + s.Sq, ag.exp2((s * scale - top) * LOG2E), 0.0)
        ds = (p * (dp - off)).to(bf16)
        kt = K[z, 32 * j].load(TURNED, tiles=dict(D=4, Sk=4), width=2)
        for dt, ns in ag.unroll(4, 4):
            dq[dt] = ag.mfma(kt[dt, ns], ds.regs(4 * ns, 4), dq[dt])
    dQ[z, g, 32 * block].store((dq * scale).to(bf16), width=8)
