"""Backward of causal attention, the gradient of the keys, as plain as it gets: one wave computes 32 keys.

    P = exp(scale Q K.T - L),   dS = P (dO V.T - delta),   dK = scale dS.T Q

L is the logarithm of the forward pass's sums, delta the sum of dO O by row. Every turn takes 32 queries of a head,
the masked ones too; operands come straight from global memory. dV = P.T dO is a part of the same work.
"""

import argus as ag
from argus import LOG2E, bf16, f32
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

TASK = dict(
    family="attention_backward",
    shapes=[dict(Z=32, Sq=2048, Sk=2048)],
    held_out=[dict(Z=2, Sq=512, Sk=512)],
    small=[dict(Z=1, Sq=256, Sk=256)],
)

ROWS = MMA.operand(row="Sq", k="D")
KEYS = MMA.operand(row="Sk", k="D")
TURNED = MMA.operand(row="D", k="Sq")
SCORES = MMA.acc(row="Sq", col="Sk")
OUT = MMA.acc(row="D", col="Sk")
P = "where(k <= q, exp(scale * sum(Q[z, q, e] * K[z, k, e], e) - L[z, q]), 0)"


@ag.kernel(
    threads=64,
    requires="Sq % 32 == 0 and Sk % 32 == 0 and scale > 0",
    computes=f"dK[z, k, d] = scale * sum({P} * (sum(dO[z, q, e] * V[z, k, e], e) - delta[z, q]) * Q[z, q, d], q)",
    example=dict(Z=1, Sq=64, Sk=64),
)
def attention_dk(
    Q: ag.In["Z Sq D=128", bf16],
    K: ag.In["Z Sk D=128", bf16],
    V: ag.In["Z Sk D=128", bf16],
    dO: ag.In["Z Sq D=128", bf16],
    L: ag.In["Z Sq", f32],
    delta: ag.In["Z Sq", f32],
    dK: ag.Out["Z Sk D=128", bf16],
    scale: f32,
):
    z, block = ag.grid(Z, Sk // 32)
    k = K[z, 32 * block].load(KEYS, tiles=dict(D=16), width=8)
    v = V[z, 32 * block].load(KEYS, tiles=dict(D=16), width=8)
    dk = ag.zeros(OUT, f32, tiles=dict(D=4))
    for j in ag.range(Sq // 32):
        s = ag.zeros(SCORES, f32)
        dp = ag.zeros(SCORES, f32)
        q = Q[z, 32 * j].load(ROWS, tiles=dict(D=16), width=8)
        do = dO[z, 32 * j].load(ROWS, tiles=dict(D=16), width=8)
        top = L[z, 32 * j].load(SCORES.per("Sq"), width=4)
        off = delta[z, 32 * j].load(SCORES.per("Sq"), width=4)
        for ks in ag.unroll(16):
            s = ag.mfma(q[ks], k[ks], s)
            dp = ag.mfma(do[ks], v[ks], dp)
        p = ag.where(32 * block + s.Sk <= 32 * j + s.Sq, ag.exp2((s * scale - top) * LOG2E), 0.0)
        ds = (p * (dp - off)).to(bf16)
        qt = Q[z, 32 * j].load(TURNED, tiles=dict(D=4, Sq=4), width=2)
        for dt, ns in ag.unroll(4, 4):
            dk[dt] = ag.mfma(qt[dt, ns], ds.regs(4 * ns, 4), dk[dt])
    dK[z, 32 * block].store((dk * scale).to(bf16), width=8)
