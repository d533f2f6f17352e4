"""Flash attention forward, bf16, head dimension 128: 128 query rows per workgroup, 32 per wave, 64 keys per step.

A wave keeps its queries in registers. Keys and values go through a ring of two LDS slots, so one barrier per step is
enough. Scores are held transposed (a lane has the scores of one query), which makes the softmax a reduction over
registers and one lane exchange, and lets the probabilities feed the second product without touching LDS.
"""

import argus as ag
from argus import LOG2E, bf16, f32, inf
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

QB, KB = 128, 64  # queries per workgroup, keys per step

KL = ag.Layout(n=(KB, 256), chunk=(16, 16), e=(8, 2), d=("chunk", "e")).xor(chunk="n[0:3]")
# V transposed. 8-byte chunks; this XOR keeps both the transposed writes and the fragment reads free of conflicts.
VL = ag.Layout(d=(128, 128), chunk=(16, 8), e=(4, 2), n=("chunk", "e")).xor(chunk="d[0:4] ^ d[3:7]")

KCOPY = ag.Owner(p=4, t=256, e=8, n="p*16 + t//16", d="t%16*8 + e")
VCOPY = ag.Owner(t=256, i=4, e=8, n="t//16*4 + i", d="t%16*8 + e")  # a 4x8 block per thread, to be transposed

QFRAG = MMA.operand(wide=8, row="Sq", k="D")
KFRAG = MMA.operand(wide=8, row="n", k="d")
VFRAG = MMA.operand(row="d", k="n")
SCORES = MMA.acc(row="Sk", col="Sq")
OUT = MMA.acc(row="D", col="Sq")


def spec(causal):
    weight = "exp(scale * sum(Q[b, h, q, e] * K[b, h, k, e], e))"
    weight = f"where(k <= q, {weight}, 0)" if causal else weight
    return f"O[b, h, q, d] = sum({weight} * V[b, h, k, d], k) / sum({weight}, k)"


@ag.kernel(
    threads=256,
    waves=(4,),
    requires="Sq % 128 == 0 and Sk % 64 == 0",
    computes=spec(causal),
    example=dict(B=1, H=2, Sq=256, Sk=256),
)
def flash_fwd(
    Q: ag.In["B H Sq D=128", bf16],
    K: ag.In["B H Sk D=128", bf16],
    V: ag.In["B H Sk D=128", bf16],
    O: ag.Out["B H Sq D=128", bf16],
    scale: f32,
    causal: ag.const[bool] = False,
):
    b, h, qb = ag.grid(B, H, Sq // QB)
    m0 = QB * qb + 32 * ag.wave()  # first query of this wave
    q = Q[b, h, m0].load(QFRAG, tiles=dict(D=8), width=16)
    ring = ag.ring(2, k=(KL, bf16), v=(VL, bf16))  # 2 x (16 + 16) KiB
    rows = dict(Sq=m0)
    top = ag.full(SCORES.per("Sq"), f32, -inf, at=rows)
    den = ag.zeros(SCORES.per("Sq"), f32, at=rows)
    o = ag.zeros(OUT, f32, tiles=dict(D=4), at=rows)
    steps = ag.cdiv(ag.min(QB * (qb + 1), Sk), KB) if causal else Sk // KB
    log2_scale = scale * LOG2E

    def fetch(j):
        there = j < steps
        return K[b, h, KB * j].load(KCOPY, width=16, guard=there), V[b, h, KB * j].load(VCOPY, width=16, guard=there)

    def publish(slot, kr, vr):
        slot.k.store(kr, width=16)
        slot.v.store(vr.order("e", "i"), width=8)  # 4x8 transpose in registers

    publish(ring[0], *fetch(0))
    nxt = fetch(1)
    for j in ag.range(steps):
        ag.barrier()  # slot j is visible; slot j + 1 is no longer read
        if j + 1 < steps:
            publish(ring[j + 1], *nxt)
        nxt = fetch(j + 2)
        kv = ring[j]

        s = ag.zeros(SCORES, f32, tiles=dict(Sk=2), at=dict(Sk=KB * j, Sq=m0))
        for nt, ks in ag.unroll(2, 8):
            kf = kv.k.load(KFRAG, n=32 * nt, d=16 * ks, width=16)
            for hh in ag.unroll(2):
                s[nt] = ag.mfma(kf[hh], q[ks][hh], s[nt])
        s *= log2_scale
        if causal:
            s = ag.where(s.Sk <= s.Sq, s, -inf)

        new = ag.max(top, s.max("Sk"))
        p, keep = ag.exp2(s - new), ag.exp2(top - new)
        den = den * keep + p.sum("Sk")
        top = new
        o *= keep
        pb = p.to(bf16)
        for dt, nt, qs in ag.unroll(4, 2, 4):
            vf = kv.v.load(VFRAG, d=32 * dt, n=32 * nt + 8 * qs, width=8)
            o[dt] = ag.mfma(vf, pb[nt].regs(4 * qs, 4), o[dt])

    O[b, h].store((o / den).to(bf16), width=8)

    ag.check.conform(ag.mfma, "D", "Sk")
    ag.check.aligned(den, o, "Sq")
    ag.check.fresh(ring, Sk="KB*j")
    ag.check.reduced(o, Sk=(0, Sk))
    ag.check.covers(O)
