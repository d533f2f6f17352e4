"""Flash attention forward, bf16: O = softmax(scale Q Kᵀ) V, and the logarithm of the sum of each row (L).

Z is batch x KV heads, G the query heads that share a KV head (1: MHA, H: MQA). [B, H, S, D] is the same memory as
[B*HK, H//HK, S, D], so callers only reshape. With `causal`, row i sees keys up to i + Sk - Sq. Rows that see no key
give 0 and L = -inf. `scale` is positive.

A wave owns 32 query rows and keeps them in registers. Scores are held transposed (a lane has one query), so the softmax
is arithmetic in registers with one lane exchange, and the probabilities feed the second product from registers. Keys
and values go through a ring of two LDS slots; V is transposed on its way from registers to LDS. In step j the products
of step j + 1 run beside the sums and roundings of step j, and the second product of step j beside the exponentials of
step j + 1. One barrier per step. Steps come in pairs, so that every slot is known when the kernel is compiled.

With a mask, tiles differ in length. Workgroups start in order, the longest first, so that the short ones fill the gaps
at the end; a long and a short tile in one workgroup would be equal work, but only in whole rounds of the chip.
"""

import argus as ag
from argus import LOG2E, bf16, f32, i32, inf
from argus.gfx942 import mfma_32x32x8_bf16 as MMA

D = ag.knob(128, legal=(64, 128), why="head dimension")
WAVES = ag.knob(8, legal=(4, 8), why="waves of 32 query rows: two on each SIMD hide each other's latencies")
BC = ag.knob(64, legal=(32, 64), why="keys per step: with 64 the two slots of K and V fill the LDS")
ROUND = ag.knob("rne", legal=("rne", "rtz"), why="probabilities to bf16: nearest even, or truncated, which is cheaper")
RAGGED = ag.knob(False, legal=(False, True), why="any lengths; else whole tiles, without conditions on rows")
AHEAD = ag.knob(2, legal=(2, 4), why="fragments read ahead of their matrix instructions")
T, BR, NT, KS, DT, NQ = 64 * WAVES, 32 * WAVES, BC // 32, D // 16, D // 32, BC // 16
INSIDE = "shape" if RAGGED else None
SOFTMAX_SPLIT = 3 * DT * NQ // 4  # second products before the barrier: the rest hides the first reads of the next step

assert BC * D // 8 >= T, "each thread loads at least 16 bytes of K: fewer waves, or more keys per step"
assert WAVES == 8 or BC * D < 8192, "four waves keep twice the keys and values in flight: 32 keys per step, or D = 64"

# Rows of K; XOR of the 16-byte chunk with the row keeps writes and fragment reads free of bank conflicts.
KL = ag.Layout(n=(BC, 2 * D), chunk=(D // 8, 16), e=(8, 2), d=("chunk", "e")).xor(chunk="n[0:3]")
KCOPY = ag.Owner(p=BC * D // 8 // T, t=T, e=8, n=f"p*{8 * T // D} + t//{D // 8}", d=f"t%{D // 8}*8 + e")
# V transposed. A lane needs keys 16q + 8g + 4h + i for g = 0, 1 and all i at once, so these eight are stored together:
# place 8*(2q + h) + 4g + i. A thread loads R of them for two columns d and writes R of them per column.
R = 8 if BC * D // 16 >= T else 4
VL = ag.Layout(
    c=(BC // 8, 16 * D), dh=(D // 16, 256), d3=(2, 128), dm=(4, 32), d0=(2, 16), e=(8, 2),
    d=("dh", "d3", "dm", "d0"), at=("c", "e"),
).xor(d0="d3[0:1]")  # fmt: skip
ITEM = f"(p*{T} + t)//{D // 2}"
ROW = f"{ITEM}//2*16 + g*8 + {ITEM}%2*4 + i" if R == 8 else f"{ITEM}//4*16 + {ITEM}%2*8 + {ITEM}//2%2*4 + g*0 + i"
VCOPY = ag.Owner(p=BC * D // (2 * R) // T, t=T, g=R // 4, i=4, c=2, n=ROW, d=f"t%{D // 2}*2 + c")
VPUT = ag.Owner(p=BC * D // (2 * R) // T, c=2, t=T, e=R, at=f"{ITEM}*{R} + e", d=f"t%{D // 2}*2 + c")

QFRAG = MMA.operand(wide=8, row="Sq", k="D")
KFRAG = MMA.operand(wide=8, row="n", k="d")
VFRAG = ag.Owner(lane=64, g=2, e=4, d="lane%32", at="lane//32*8 + g*4 + e")
SCORES = MMA.acc(row="Sk", col="Sq")
OUT = MMA.acc(row="D", col="Sq")


@ag.kernel(
    threads=T,
    waves=(WAVES,),
    requires="Sq >= 1 and Sk >= 1" if RAGGED else f"Sq % {BR} == 0 and Sk % {2 * BC} == 0",
    example=dict(Z=1, G=1, Sq=256, Sk=256),
    policy=dict(waves_per_simd=2),
)
def attention(
    Q: ag.In[f"Z G Sq D={D}", bf16],
    K: ag.In[f"Z Sk D={D}", bf16],
    V: ag.In[f"Z Sk D={D}", bf16],
    O: ag.Out[f"Z G Sq D={D}", bf16],
    L: ag.Out["Z G Sq", f32],
    scale: f32,
    causal: ag.const[bool] = False,
):
    tiles = ag.cdiv(Sq, BR)
    place, g, z = ag.grid(tiles, G, Z)  # heads of one KV head on one chiplet; with a mask the longest tiles first
    qb = tiles - 1 - place if causal else place
    m0 = BR * qb + 32 * ag.wave()  # first query of this wave
    q = Q[z, g, m0].load(QFRAG, tiles=dict(D=KS), width=16, guard=INSIDE)
    ring = ag.ring(2, k=(KL, bf16), v=(VL, bf16))
    top = ag.full(SCORES.per("Sq"), f32, -1.0e30)
    den = ag.zeros(SCORES.per("Sq"), f32)
    o = ag.zeros(OUT, f32, tiles=dict(D=DT))
    c = scale * LOG2E
    shift = Sk - Sq  # the last row sees the last key
    seen = ag.min(ag.max(BR * (qb + 1) + shift, 0), Sk) if causal else Sk  # keys that some row of the tile sees
    pairs = ag.max(ag.cdiv(seen, 2 * BC), 1)
    clear = m0 + shift + 1 if causal else Sk  # keys that all rows of the wave see

    def fetch_k(j):
        return K[z, BC * j].load(KCOPY, width=16, guard=INSIDE or j < 2 * pairs)

    def fetch_v(j):
        return V[z, BC * j].load(VCOPY, width=4, guard=INSIDE or j < 2 * pairs)

    def publish_v(slot, v):
        ring[slot].v.store(v.order("p", "c", "g", "i").held_as(VPUT), width=2 * R)

    def read_k(slot, n):
        return ring[slot].k.load(KFRAG, n=32 * (n // KS), d=16 * (n % KS), width=16)

    def read_v(slot, n):
        return ring[slot].v.load(VFRAG, d=32 * (n // NQ), at=16 * (n % NQ), width=16)

    def scores(kf):
        s = ag.zeros(SCORES, f32, tiles=dict(Sk=NT))
        for n, h in ag.unroll(NT * KS, 2):
            s[n // KS] = ag.mfma(kf[n][h], q[n % KS][h], s[n // KS])
        return s

    def hidden(s, j):
        half = 4 * (ag.lane() // 32)  # taken off both sides: what remains of s.Sk is a constant per register
        last = i32((m0 + shift + ag.lane() % 32 if causal else Sk - 1) - BC * j - half)
        return ag.where(i32(s.Sk - half) <= last, s, -inf)

    def accumulate(o, vf, pb, first, last):
        for n, e in ag.unroll(last - first, 2):
            m = first + n
            o[m // NQ] = ag.mfma(vf[m][e], pb[m % NQ // 2].regs(8 * (m % 2) + 4 * e, 4), o[m // NQ])
        return o

    def rounded(p):
        return p.to(bf16, rounding=ROUND, finite=True)

    def step(j, u, kf, kr, vr, p, keep, top, den, o):
        """Step j, in slots u: scores of step j + 1, second product of step j."""
        with ag.schedule(order="mfma valu*6 ds_read ds_write mfma valu*6 buffer_load"):
            for n in range(AHEAD, NT * KS):
                kf.append(read_k(1 - u, n))
            vf = [read_v(u, n) for n in range(AHEAD)]
            ring[u].k.store(kr, width=16)
            publish_v(1 - u, vr)
            kr, vr = fetch_k(j + 3), fetch_v(j + 2)
            s = scores(kf)
            total = p.sum("Sk")
            pb = rounded(p)
            den = den * keep + total
            o *= keep
        if (causal or RAGGED) and BC * (j + 2) > clear:
            s = hidden(s, j + 1)
        with ag.schedule(order="mfma valu*6 ds_read mfma valu*6"):
            for n in range(AHEAD, DT * NQ):
                vf.append(read_v(u, n))
            o = accumulate(o, vf, pb, 0, SOFTMAX_SPLIT)
            new = ag.max(top, s.max("Sk"))
            keep = ag.exp2((top - new) * c)
            top = new
            p = ag.exp2(ag.fma(s, c, -(new * c)))
            ag.barrier()
            kf = [read_k(u, n) for n in range(AHEAD)]
            o = accumulate(o, vf, pb, SOFTMAX_SPLIT, DT * NQ)
        return kf, kr, vr, p, keep, top, den, o

    ring[0].k.store(fetch_k(0), width=16)
    ring[1].k.store(fetch_k(1), width=16)
    publish_v(0, fetch_v(0))
    kr, vr = fetch_k(2), fetch_v(1)
    ag.barrier()
    s = scores([read_k(0, n) for n in range(NT * KS)])
    if (causal or RAGGED) and clear < BC:
        s = hidden(s, 0)
    kf = [read_k(1, n) for n in range(AHEAD)]
    top = ag.max(top, s.max("Sk"))
    keep = ag.full(SCORES.per("Sq"), f32, 1.0)
    p = ag.exp2(ag.fma(s, c, -(top * c)))
    ag.barrier()  # the first keys have been read
    for i in ag.range(pairs - 1):
        kf, kr, vr, p, keep, top, den, o = step(2 * i, 0, kf, kr, vr, p, keep, top, den, o)
        kf, kr, vr, p, keep, top, den, o = step(2 * i + 1, 1, kf, kr, vr, p, keep, top, den, o)
    kf, kr, vr, p, keep, top, den, o = step(2 * pairs - 2, 0, kf, kr, vr, p, keep, top, den, o)
    o *= keep
    den = den * keep + p.sum("Sk")
    o = accumulate(o, [read_v(1, n) for n in range(DT * NQ)], rounded(p), 0, DT * NQ)

    O[z, g, m0].store((o * ag.where(den > 0.0, ag.rcp(den), 0.0)).to(bf16), width=8, guard=INSIDE)
    own = ag.lane() < 32 and (not RAGGED or m0 + ag.lane() < Sq)  # the upper half of a wave holds the same rows
    L[z, g, m0].store((top * c + ag.log2(den)) / LOG2E, width=4, guard=own)
