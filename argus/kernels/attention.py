"""Flash attention forward, bf16: O = softmax(scale Q Kᵀ) V, and the logarithm of the sum of each row (L).

`attention`: Z is batch x KV heads, G the query heads that share a KV head (1: MHA, H: MQA). [B, H, S, D] is the same
memory as [B*HK, H//HK, S, D], so callers only reshape. With `causal`, row i sees keys up to i + Sk - Sq. Rows that see
no key give 0 and L = -inf.

`attention_lengths`: sequences of any lengths, one behind the other (`[tokens, heads, D]`); sequence b has the queries
StartQ[b] … StartQ[b+1]-1 and the keys StartK[b] … StartK[b+1]-1. Tiles says what each workgroup does: a sequence and a
tile of its queries, so that short sequences cost nothing and the longest tiles can start first.

A wave owns 32 query rows and keeps them in registers. Scores are held transposed (a lane has one query), so the softmax
is arithmetic in registers with one lane exchange, and the probabilities feed the second product from registers. Keys
and values go through a ring of two LDS slots; V is transposed on its way from registers to LDS. In step j the products
of step j + 1 run beside the sums and roundings of step j, and the second product of step j beside the exponentials of
step j + 1. One barrier per step. Steps come in pairs, so that every slot is known when the kernel is compiled.

LAZY: softmax may subtract any reference from the scores; it need not be the maximum. So the reference moves only when
the maximum has grown by more than LAZY powers of two, and only then are the outputs so far multiplied.
OPPOSITE: a barrier more per step, and half of the waves one barrier behind.

With a mask, tiles differ in length. Workgroups start in order, the longest first, so that the short ones fill the gaps
at the end; a long and a short tile in one workgroup (MIRROR) are equal work, but only in whole rounds of the chip.
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
LAZY = ag.knob(0, legal=(0, 8), why="powers of two the maximum may grow before outputs are rescaled; 0: always rescale")
OPPOSITE = ag.knob(False, legal=(False, True), why="halves of the waves half a step apart")
MIRROR = ag.knob(False, legal=(False, True), why="with a mask: tile i and tile n - 1 - i in one workgroup")
XCD = ag.knob(True, legal=(False, True), why="heads that share keys on one chiplet; else tiles of a head side by side")
SWIZZLE = ag.knob(True, legal=(False, True), why="spread rows of LDS over the banks")
PREFETCH = ag.knob(True, legal=(False, True), why="keys and values on their way a step before they go to LDS")
INTERLEAVE = ag.knob(True, legal=(False, True), why="matrix instructions and arithmetic by turns, or one after another")
T, BR, NT, KS, DT, NQ = 64 * WAVES, 32 * WAVES, BC // 32, D // 16, D // 32, BC // 16
SOFTMAX_SPLIT = 3 * DT * NQ // 4  # second products before the barrier: the rest hides the first reads of the next step
SCORE_SPLIT = 3 * NT * KS // 4  # the same of the first products, with a barrier after them
APART = "mfma*2 ds_read ds_write buffer_load"
SCORE_ORDER = "mfma valu*6 ds_read ds_write mfma valu*6 buffer_load" if INTERLEAVE else APART
SOFTMAX_ORDER = (SCORE_ORDER if OPPOSITE else "mfma valu*6 ds_read mfma valu*6") if INTERLEAVE else APART

assert BC * D // 8 >= T, "each thread loads at least 16 bytes of K: fewer waves, or more keys per step"
assert WAVES == 8 or BC * D < 8192, "four waves keep twice the keys and values in flight: 32 keys per step, or D = 64"

# Rows of K; XOR of the 16-byte chunk with the row keeps writes and fragment reads free of bank conflicts.
KPLAIN = ag.Layout(n=(BC, 2 * D), chunk=(D // 8, 16), e=(8, 2), d=("chunk", "e"))
KL = KPLAIN.xor(chunk="n[0:3]") if SWIZZLE else KPLAIN
KCOPY = ag.Owner(p=BC * D // 8 // T, t=T, e=8, n=f"p*{8 * T // D} + t//{D // 8}", d=f"t%{D // 8}*8 + e")
# V transposed. A lane needs keys 16q + 8g + 4h + i for g = 0, 1 and all i at once, so these eight are stored together:
# place 8*(2q + h) + 4g + i. A thread loads R of them for two columns d and writes R of them per column.
R = 8 if BC * D // 16 >= T else 4
VPLAIN = ag.Layout(
    c=(BC // 8, 16 * D), dh=(D // 16, 256), d3=(2, 128), dm=(4, 32), d0=(2, 16), e=(8, 2),
    d=("dh", "d3", "dm", "d0"), at=("c", "e"),
)  # fmt: skip
VL = VPLAIN.xor(d0="d3[0:1]") if SWIZZLE else VPLAIN
ITEM = f"(p*{T} + t)//{D // 2}"
ROW = f"{ITEM}//2*16 + g*8 + {ITEM}%2*4 + i" if R == 8 else f"{ITEM}//4*16 + {ITEM}%2*8 + {ITEM}//2%2*4 + g*0 + i"
VCOPY = ag.Owner(p=BC * D // (2 * R) // T, t=T, g=R // 4, i=4, c=2, n=ROW, d=f"t%{D // 2}*2 + c")
VPUT = ag.Owner(p=BC * D // (2 * R) // T, c=2, t=T, e=R, at=f"{ITEM}*{R} + e", d=f"t%{D // 2}*2 + c")

QFRAG = MMA.operand(wide=8, row="Sq", k="D")
KFRAG = MMA.operand(wide=8, row="n", k="d")
VFRAG = ag.Owner(lane=64, g=2, e=4, d="lane%32", at="lane//32*8 + g*4 + e")
SCORES = MMA.acc(row="Sk", col="Sq")
OUT = MMA.acc(row="D", col="Sq")


def spec(causal):
    """The rows of O and L; a row that sees no key is 0, and -inf in L."""
    weight = "exp(scale * sum(Q[z, g, q, e] * K[z, k, e], e))"
    weight = f"where(k <= q + Sk - Sq, {weight}, 0)" if causal else weight
    mean = f"sum({weight} * V[z, k, d], k) / sum({weight}, k)"
    mean = f"where(q + Sk - Sq >= 0, {mean}, 0)" if causal else mean
    return f"O[z, g, q, d] = {mean}; L[z, g, q] = 0.6931471805599453 * log2(sum({weight}, k))"


def attend(ring, q, fetch_k, fetch_v, m0, shift, keys, pairs, clear, scale, causal, ragged):
    """Outputs and logarithms of 32 queries: `keys` there are, in `pairs` of steps, the first `clear` seen by all."""
    top = ag.full(SCORES.per("Sq"), f32, -1.0e30)
    den = ag.zeros(SCORES.per("Sq"), f32)
    o = ag.zeros(OUT, f32, tiles=dict(D=DT))
    c = scale * LOG2E

    def publish_v(slot, v):
        ring[slot].v.store(v.order("p", "c", "g", "i").held_as(VPUT), width=2 * R)

    def read_k(slot, n):
        return ring[slot].k.load(KFRAG, n=32 * (n // KS), d=16 * (n % KS), width=16)

    def read_v(slot, n):
        return ring[slot].v.load(VFRAG, d=32 * (n // NQ), at=16 * (n % NQ), width=16)

    def scores(s, kf, first, last):
        for n, h in ag.unroll(last - first, 2):
            m = first + n
            s[m // KS] = ag.mfma(kf[m][h], q[m % KS][h], s[m // KS])
        return s

    def hidden(s, j):
        half = 4 * (ag.lane() // 32)  # taken off both sides: what remains of s.Sk is a constant per register
        last = i32((m0 + shift + ag.lane() % 32 if causal else keys - 1) - BC * j - half)
        return ag.where(i32(s.Sk - half) <= last, s, -inf)

    def accumulate(o, vf, pb, first, last):
        for n, e in ag.unroll(last - first, 2):
            m = first + n
            o[m // NQ] = ag.mfma(vf[m][e], pb[m % NQ // 2].regs(8 * (m % 2) + 4 * e, 4), o[m // NQ])
        return o

    def rounded(p):
        return p.to(bf16, rounding=ROUND, finite=True)

    def reference(top, s):
        """What is subtracted from the scores of a row from now on."""
        new = ag.max(top, s.max("Sk"))
        return ag.where((new - top) * c > 1.0 * LAZY, new, top) if LAZY else new

    def rescaled(o, keep):
        if LAZY:
            if ag.as_index(ag.where(keep != 1.0, i32(1), i32(0)), 0, 1, name="moved") == 1:
                o *= keep
        else:
            o *= keep
        return o

    def step(j, u, kf, kr, vr, p, keep, top, den, o):
        """Step j, in slots u: scores of step j + 1, second product of step j."""
        with ag.schedule(order=SCORE_ORDER):
            for n in range(AHEAD, NT * KS):
                kf.append(read_k(1 - u, n))
            s = ag.zeros(SCORES, f32, tiles=dict(Sk=NT))
            if not PREFETCH:
                kr = fetch_k(j + 2)
            ring[u].k.store(kr, width=16)
            if OPPOSITE:
                if PREFETCH:
                    kr = fetch_k(j + 3)
                s = scores(s, kf, 0, SCORE_SPLIT)
                ag.barrier()
                vf = [read_v(u, n) for n in range(AHEAD)]
                s = scores(s, kf, SCORE_SPLIT, NT * KS)
            else:
                vf = [read_v(u, n) for n in range(AHEAD)]
                if not PREFETCH:
                    vr = fetch_v(j + 1)
                publish_v(1 - u, vr)
                if PREFETCH:
                    kr, vr = fetch_k(j + 3), fetch_v(j + 2)
                s = scores(s, kf, 0, NT * KS)
            total = p.sum("Sk")
            pb = rounded(p)
            den = den * keep + total
            if not LAZY:
                o *= keep
        if LAZY:
            o = rescaled(o, keep)
        if (causal or ragged) and BC * (j + 2) > clear:
            s = hidden(s, j + 1)
        with ag.schedule(order=SOFTMAX_ORDER):
            for n in range(AHEAD, DT * NQ):
                vf.append(read_v(u, n))
            if OPPOSITE:
                if not PREFETCH:
                    vr = fetch_v(j + 1)
                publish_v(1 - u, vr)
                if PREFETCH:
                    vr = fetch_v(j + 2)
            o = accumulate(o, vf, pb, 0, SOFTMAX_SPLIT)
            new = reference(top, s)
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
    s = scores(ag.zeros(SCORES, f32, tiles=dict(Sk=NT)), [read_k(0, n) for n in range(NT * KS)], 0, NT * KS)
    if (causal or ragged) and clear < BC:
        s = hidden(s, 0)
    kf = [read_k(1, n) for n in range(AHEAD)]
    top = ag.max(top, s.max("Sk"))
    keep = ag.full(SCORES.per("Sq"), f32, 1.0)
    p = ag.exp2(ag.fma(s, c, -(top * c)))
    ag.barrier()  # the first keys have been read

    def steps(kf, kr, vr, p, keep, top, den, o):
        for i in ag.range(pairs - 1):
            kf, kr, vr, p, keep, top, den, o = step(2 * i, 0, kf, kr, vr, p, keep, top, den, o)
            kf, kr, vr, p, keep, top, den, o = step(2 * i + 1, 1, kf, kr, vr, p, keep, top, den, o)
        return step(2 * pairs - 2, 0, kf, kr, vr, p, keep, top, den, o)

    if OPPOSITE:
        with ag.opposite():
            kf, kr, vr, p, keep, top, den, o = steps(kf, kr, vr, p, keep, top, den, o)
    else:
        kf, kr, vr, p, keep, top, den, o = steps(kf, kr, vr, p, keep, top, den, o)
    o *= keep
    den = den * keep + p.sum("Sk")
    o = accumulate(o, [read_v(1, n) for n in range(DT * NQ)], rounded(p), 0, DT * NQ)
    return (o * ag.where(den > 0.0, ag.rcp(den), 0.0)).to(bf16), (top * c + ag.log2(den)) / LOG2E


@ag.kernel(
    threads=T,
    waves=(WAVES,),
    requires=("Sq >= 1 and Sk >= 1" if RAGGED else f"Sq % {BR} == 0 and Sk % {2 * BC} == 0") + " and scale > 0",
    computes=spec(causal),
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
    inside = "shape" if RAGGED else None
    ring = ag.ring(2, k=(KL, bf16), v=(VL, bf16))
    shift = Sk - Sq  # the last row sees the last key
    if XCD:
        place, g, z = ag.grid(ag.cdiv(tiles, 2) if MIRROR else tiles, G, Z)
    else:
        z, g, place = ag.grid(Z, G, ag.cdiv(tiles, 2) if MIRROR else tiles)

    def tile(qb):
        m0 = BR * qb + 32 * ag.wave()  # first query of this wave
        q = Q[z, g, m0].load(QFRAG, tiles=dict(D=KS), width=16, guard=inside)
        seen = ag.min(ag.max(BR * (qb + 1) + shift, 0), Sk) if causal else Sk  # keys that some row of the tile sees
        pairs = ag.max(ag.cdiv(seen, 2 * BC), 1)
        clear = m0 + shift + 1 if causal else Sk  # keys that all rows of the wave see

        def fetch_k(j):
            return K[z, BC * j].load(KCOPY, width=16, guard=inside or j < 2 * pairs)

        def fetch_v(j):
            return V[z, BC * j].load(VCOPY, width=4, guard=inside or j < 2 * pairs)

        o, log = attend(ring, q, fetch_k, fetch_v, m0, shift, Sk, pairs, clear, scale, causal, RAGGED)
        O[z, g, m0].store(o, width=8, guard=inside)
        own = ag.lane() < 32 and (not RAGGED or m0 + ag.lane() < Sq)  # the upper half of a wave holds the same rows
        L[z, g, m0].store(log, width=4, guard=own)

    if MIRROR:
        tile(tiles - 1 - place)
        if 2 * place + 1 < tiles:  # the tile in the middle is done once
            ag.barrier()  # the values of the first tile have been read
            tile(place)
    else:
        tile(tiles - 1 - place if causal else place)  # with a mask the longest tiles first


ONE = ag.Owner(t=T, x="t*0")
MINE = ag.Owner(t=T, Sq="t//64*32 + t%32")
FAR = 1 << 24  # more than there are sequences
KPACKED = ag.Owner(p=BC * D // 8 // T, t=T, e=8, Sk=f"p*{8 * T // D} + t//{D // 8}", D=f"t%{D // 8}*8 + e")
VPACKED = ag.Owner(p=BC * D // (2 * R) // T, t=T, g=R // 4, i=4, c=2, Sk=ROW, D=f"t%{D // 2}*2 + c")


def packed_spec(causal):
    """A row sees keys of its own sequence; with a mask, its last row sees the last key."""
    first, last = "StartK[Seq[t]]", "EndK[Seq[t]]"
    reach = f"k <= t + {last} - EndQ[Seq[t]]" if causal else f"k < {last}"
    some = f"{first} <= t + {last} - EndQ[Seq[t]]" if causal else f"{first} < {last}"
    weight = f"where(k >= {first}, where({reach}, exp(scale * sum(Q[t, h, g, e] * K[k, h, e], e)), 0), 0)"
    mean = f"where({some}, sum({weight} * V[k, h, d], k) / sum({weight}, k), 0)"
    return f"O[t, h, g, d] = {mean}; L[h, g, t] = 0.6931471805599453 * log2(sum({weight}, k))"


@ag.kernel(
    threads=T,
    waves=(WAVES,),
    requires=f"W1 == W + 1 and B <= {FAR} and scale > 0",
    computes=packed_spec(causal),
    example=dict(Tq=300, HK=1, G=2, Tk=300, B=2, W=2, W1=3),
    policy=dict(waves_per_simd=2),
)
def attention_lengths(
    Q: ag.In[f"Sq=Tq HK G D={D}", bf16],
    K: ag.In[f"Sk=Tk HK D={D}", bf16],
    V: ag.In[f"Sk=Tk HK D={D}", bf16],
    O: ag.Out[f"Sq=Tq HK G D={D}", bf16],
    L: ag.Out["HK G Sq=Tq", f32],
    Seq: ag.In["Sq=Tq", i32],
    StartK: ag.In["B", i32],
    EndK: ag.In["B", i32],
    EndQ: ag.In["B", i32],
    Row: ag.In["W1", i32],
    Tiles: ag.In["W two=2", i32],
    Place: ag.In["W", i32],
    scale: f32,
    causal: ag.const[bool] = False,
):
    w, g, kv = ag.grid(W, G, HK)
    ring = ag.ring(2, k=(KL, bf16), v=(VL, bf16))
    tile = ag.as_index(Tiles[w, 0].load(ONE, width=4), 0, W - 1, name="tile")
    b = ag.as_index(Tiles[w, 1].load(ONE, width=4), 0, B - 1, name="sequence")
    k0 = ag.as_index(StartK[b].load(ONE, width=4), 0, Tk, name="first_key")
    k1 = ag.as_index(EndK[b].load(ONE, width=4), k0, Tk, name="end_of_keys")
    q2 = ag.as_index(EndQ[b].load(ONE, width=4), 0, Tq, name="end_of_queries")
    q0 = ag.as_index(Row[tile].load(ONE, width=4), 0, q2, name="first_query")
    q1 = ag.as_index(Row[tile + 1].load(ONE, width=4), q0, ag.min(q0 + BR, q2), name="next_tile")
    rows, keys = q1 - q0, k1 - k0
    m0 = 32 * ag.wave()  # first query of this wave in the tile
    mine = m0 + ag.lane() % 32
    # What the proof needs to know of the data: tiles are different and together all rows, rows are of sequence b.
    ag.as_index(Place[tile].load(ONE, width=4), w, w, name="place")
    ag.as_index(Row[0].load(ONE, width=4), 0, 0, name="first_row")
    ag.as_index(Row[W].load(ONE, width=4), Tq, Tq, name="last_row")
    beyond = FAR * ag.max(mine - rows + 1, 0)
    ag.as_index(Seq[q0].load(MINE, width=4), b - beyond, b + beyond, name="sequence_of_row")

    shift = keys - (q2 - q0)  # the last row of the sequence sees the last key
    q = Q[q0 + m0, kv, g].load(QFRAG, tiles=dict(D=KS), width=16)  # rows of the next tile are not stored
    seen = ag.min(ag.max(rows + shift, 0), keys) if causal else keys
    pairs = ag.max(ag.cdiv(seen, 2 * BC), 1)
    clear = m0 + shift + 1 if causal else keys

    def fetch_k(j):
        return K[k0 + BC * j, kv].load(KPACKED, width=16).held_as(KCOPY)  # keys of the next sequence are masked

    def fetch_v(j):
        def inside(Sk, D):  # values of the next sequence are not masked: 0 * NaN would be NaN
            return BC * j + Sk < keys

        return V[k0 + BC * j, kv].load(VPACKED, width=4, guard=inside).held_as(VCOPY)

    o, log = attend(ring, q, fetch_k, fetch_v, m0, shift, keys, pairs, clear, scale, causal, True)
    O[q0 + m0, kv, g].store(o, width=8, guard=lambda D, Sq: m0 + Sq < rows)
    L[kv, g, q0 + m0].store(log, width=4, guard=ag.lane() < 32 and m0 + ag.lane() < rows)
