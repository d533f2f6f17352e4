"""Causal attention of one head, 64 queries per workgroup, 32 keys per step, head dimension 32."""

import argus as ag
from argus import LOG2E, bf16, f32, inf
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

CASE = ag.knob(0, legal=tuple(range(11)), why="which variant")

KL = ag.Layout(n=(32, 64), chunk=(4, 16), e=(8, 2), d=("chunk", "e"))
VL = ag.Layout(d=(32, 64), chunk=(8, 8), e=(4, 2), n=("chunk", "e"))
KCOPY = ag.Owner(t=128, e=8, n="t//4", d="t%4*8 + e")
VCOPY = ag.Owner(t=128, e=8, n="t//4", d="t%4*8 + e")
QFRAG = MMA.operand(wide=8, row="Sq", k="D")
KFRAG = MMA.operand(wide=8, row="n", k="d")
VFRAG = MMA.operand(row="d", k="n")
SCORES = MMA.acc(row="Sk", col="Sq")
OUT = MMA.acc(row="D", col="Sq")


@ag.kernel(
    threads=128,
    requires="Sq % 64 == 0 and Sk == Sq and Sq >= 64",
    computes="O[q, d] = sum(where(k <= q, exp(sum(Q[q, c] * K[k, c], c)), 0) * V[k, d], k)"
    " / sum(where(k <= q, exp(sum(Q[q, c] * K[k, c], c)), 0), k)",
    example=dict(Sq=64, Sk=64),
)
def attention(
    Q: ag.In["Sq D=32", bf16], K: ag.In["Sk D=32", bf16], V: ag.In["Sk D=32", bf16], O: ag.Out["Sq D=32", f32]
):
    qb = ag.grid(Sq // 64)
    m0 = 64 * qb + 32 * ag.wave()
    q = Q[m0].load(QFRAG, tiles=dict(D=2), width=16)
    sK, sV = ag.shared(KL, bf16), ag.shared(VL, bf16)
    rows = dict(Sq=m0)
    top = ag.full(SCORES.per("Sq"), f32, -inf, at=rows)
    den = ag.zeros(SCORES.per("Sq"), f32, at=rows)
    o = ag.zeros(OUT, f32, at=rows)
    steps = 2 * qb + 1 if CASE == 4 else 2 * (qb + 1)
    for j in ag.range(steps):
        kr, vr = K[32 * j].load(KCOPY, width=16), V[32 * j].load(VCOPY, width=16)
        if CASE != 7:
            ag.barrier()
        sK.store(kr, width=16)
        sV.store(vr, width=2)
        ag.barrier()
        s = ag.zeros(SCORES, f32, at=dict(Sk=0 if CASE == 6 else 32 * j, Sq=m0))
        for ks in ag.unroll(2):
            kf = sK.load(KFRAG, d=16 * ks, width=16)
            for hh in ag.unroll(2):
                s = MMA(kf[hh], q[1 - ks if CASE == 8 else ks][hh], s)
        s *= LOG2E
        if CASE == 1:
            s = ag.where(s.Sk < s.Sq, s, -inf)
        elif CASE == 5:
            s = ag.where(s.Sk <= s.Sq + 1, s, -inf)
        elif CASE != 10:
            s = ag.where(s.Sk <= s.Sq, s, -inf)
        new = ag.max(top, s.max("Sk"))
        p, keep = ag.exp2(s - new), ag.exp2(top - new)
        if CASE == 3:
            den = den + p.sum("Sk")
        else:
            den = den * keep + p.sum("Sk")
        if CASE != 9:
            top = new
        if CASE != 2:
            o *= keep
        pb = p.to(bf16)
        for qs in ag.unroll(4):
            vf = sV.load(VFRAG, n=8 * qs, width=8)
            o = MMA(vf, pb.regs(4 * qs, 4), o)
    O.store(o / den, width=16)
