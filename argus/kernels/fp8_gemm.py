"""Products of fp8 matrices with block scales: C = A @ B.T, and the two products of a mixture of experts.

    A [M, K] fp8 with a scale per row and 128 of k, B [N, K] fp8 with a scale per 128 x 128, C [M, N] bf16
    C[m, n] = sum over blocks b of k:  scale_a[m, b] * scale_b[n // 128, b] * (sum of A[m, k] * B[n, k] over k in b)

One BM x BN tile of C per workgroup; the waves share its rows and each takes its own columns. A step of 128 k of A goes
global -> registers -> LDS (two stages, one barrier a step). No two waves need the same element of B, so B goes straight
to registers: it is stored in blocks of 32 rows x 16 k (`argus.ops.arranged`), a wave's load is 1 KiB in a row.

AHEAD steps of B and A are on their way while one is multiplied: one where several waves of a SIMD wait in turn, two for
launches of few workgroups, which wait for memory otherwise.

A step's products start from zero (`parts`); their scaled sum into `acc` is ordinary arithmetic, which runs beside the
matrix instructions of the next rows (`add`, one row of tiles late). Operands share both register files.

What it cannot do: K that is no multiple of 128, N that is no multiple of 128, tensors of 2 GiB and more.
"""

import argus as ag
from argus import bf16, f32, fp8, i32
from argus.gfx942 import mfma_32x32x16_fp8_fp8 as MMA

BM = ag.knob(128, legal=(32, 64, 96, 128, 160), why="rows of C per workgroup")
TN = ag.knob(2, legal=(1, 2, 4), why="32 x 32 tiles of a wave along N")
WAVES = ag.knob(4, legal=(2, 4, 8), why="waves along N")
ROOM = ag.knob(1, legal=(1, 2, 3, 4), why="waves a SIMD must hold")
TURN = ag.knob(4, legal=(2, 4), why="steps per turn of the loop")
AHEAD = ag.knob(1, legal=(1, 2), why="steps that B and A are fetched before their use; 4 do not fit the registers")
WIDE = ag.knob(True, legal=(True, False), why="a turn's scales in one load; K is a multiple of 128 * TURN then")
GROUP = ag.knob(4, legal=(0, 1, 2, 4, 8), why="rows of tiles an XCD walks together; 0: row-major workgroups")
SWIZZLE = ag.knob(True, legal=(True, False), why="off: bank conflicts, for comparison")
PIPELINE = ag.knob(True, legal=(True, False), why="off: fetched at the end of the step before, for comparison")
SCHEDULE = ag.knob(True, legal=(True, False), why="off: instructions as written, for comparison")

LATE = ROOM == 1  # other waves of the SIMD multiply meanwhile, if there are any
BK = 128
BN = 32 * TN * WAVES
THREADS = 64 * WAVES
TM = BM // 32
ACC = MMA.acc(row="n", col="m")
FRAG = MMA.operand(wide=16)  # 16 bytes of a lane feed two instructions
BLOCK = ag.Owner(lane=64, h=2, e=8, c="lane//32", r="lane%32", q="h*8 + e")  # 32 rows x 32 k of B as stored
S = TURN if WIDE else 1  # blocks of k in one load of scales
ROW_SCALES = ag.Owner(lane=64, s=S, m="lane%32", b="s")
SCALE = ag.Owner(lane=64, s=S, b="s")
PASS = THREADS // 8  # rows of A that the workgroup moves at a time, 16 bytes a thread
MOVE = ag.Owner(p=BM // PASS, t=THREADS, e=16, row=f"p*{PASS} + t//8", k="t%8*16 + e")
PART = ag.Owner(t=THREADS, e=16, k="t%8*16 + e")
MINE = ag.Owner(t=THREADS, r="t//8")
ONE = ag.Owner(t=THREADS, x="t*0")
LDS = ag.Layout(row=(BM, 128), chunk=(8, 16), e=(16, 1), k=("chunk", "e"))
KEPT = LDS.xor(chunk="row[0:3]").xor(chunk="row[3:6]") if SWIZZLE else LDS

assert BM % PASS == 0, "the workgroup moves a step of A in whole passes"
assert AHEAD == 1 or (WIDE and TURN == 4), "with turns of two the second step ahead does not fit the registers"


def place(rows, columns):
    """This workgroup's tile. Its number % 8 is its XCD, which takes every eighth row and walks GROUP rows together."""
    if GROUP == 0:
        return ag.grid(rows, columns)
    z, column, x = ag.grid(ag.cdiv(rows, 8 * GROUP), columns, 8 * GROUP)
    return z * 8 * GROUP + x, column


def order(text):
    """Which classes of instructions take turns; one class alone keeps them as written."""
    return text if SCHEDULE else "mfma*64"


def product(fetch_a, keep_a, fetch_b, fetch_s, K):
    """Sums of the wave's tiles over K. `fetch_s(kt)`: scales of TM x 32 rows, and of each group of the TN tiles."""
    stages = [ag.shared(KEPT, fp8) for stage in range(2)]
    acc = [[ag.zeros(ACC, f32) for j in range(TN)] for i in range(TM)]

    def read(stage, i):
        return [stages[stage].load(FRAG, row=32 * i, k=32 * ks, width=16) for ks in range(4)]

    def parts(a, b):
        sums = [ag.zeros(ACC, f32) for j in range(TN)]
        for ks, h, j in ag.unroll(4, 2, TN):
            sums[j] = ag.mfma(b[j][ks][h], a[ks][h], sums[j])
        return sums

    def scales(s, d, i):
        """The factor of row tile i for each of the wave's tiles, in step d of a turn."""
        at = d if WIDE else 0
        groups = len(s[1])
        rows = s[0][i].regs(at, 1).without()
        return [(rows * s[1][j * groups // TN].regs(at, 1).without()).held_as(ACC.per("m")) for j in range(TN)]

    def add(late):
        sums, factors, i = late
        for j in range(TN):
            acc[i][j] = ag.fma(sums[j], factors[j], acc[i][j])

    def rows_of_tiles(first, end, stage, d, a, b, s, late):
        """Row tiles first..end-1; with LATE, each one's sums are added while the next is multiplied."""
        for i in range(first, end):
            ahead = read(stage, i + 1) if i + 1 < TM else read(1 - stage, 0)
            sums = parts(a, b)
            if LATE:
                if len(late):
                    add(late)
                late = [sums, scales(s, d, i), i]
            else:
                add([sums, scales(s, d, i), i])
            a = ahead
        return a, late

    def step(kt, d, a, b, s, ns, na, late):
        stage = d % 2
        with ag.schedule(order=order("mfma valu*2 buffer_load mfma valu*2 ds_read")):
            if d == TURN - AHEAD or not WIDE:
                ns = fetch_s(kt + AHEAD)  # with the first step of the next turn
            if PIPELINE:
                nb, coming = fetch_b(kt + AHEAD), fetch_a(kt + 1 + AHEAD)
            a, late = rows_of_tiles(0, TM // 2, stage, d, a, b[0], s, late)
        with ag.schedule(order=order("mfma valu*2 ds_write mfma valu*2 ds_read")):
            keep_a(stages[1 - stage], na[0])
            a, late = rows_of_tiles(TM // 2, TM - 1, stage, d, a, b[0], s, late)
        ag.barrier()  # this step has been read and the next one is there
        with ag.schedule(order=order("mfma valu*2 mfma valu*2 ds_read")):
            a, late = rows_of_tiles(TM - 1, TM, stage, d, a, b[0], s, late)
        if not PIPELINE:
            nb, coming = fetch_b(kt + AHEAD), fetch_a(kt + 1 + AHEAD)
        return a, [*b[1:], nb], ns, [*na[1:], coming], late

    keep_a(stages[0], fetch_a(0))
    s, b, na = fetch_s(0), [fetch_b(n) for n in range(AHEAD)], [fetch_a(1 + n) for n in range(AHEAD)]
    ag.barrier()
    a = read(0, 0)
    for turn in ag.range(ag.cdiv(K, TURN * BK)):
        late, ns = [], s
        for d in range(TURN):
            a, b, ns, na, late = step(turn * TURN + d, d, a, b, s, ns, na, late)
            if d == TURN - 1 or not WIDE:
                s = ns
        if LATE:
            add(late)
    return acc


def row_scales(scale, rows, kt, last):
    return [scale[rows + 32 * i, kt].load(ROW_SCALES, width=4 * S, guard=kt < last) for i in range(TM)]


def of_block(kt, last, seen):
    """A step of 32 rows of B as stored, seen from their first element: four loads of 1 KiB."""
    return [seen(8 * kt + 2 * ks).load(BLOCK, width=16, guard=kt < last).held_as(FRAG) for ks in range(4)]


NEEDS = f"K >= 1 and K % {128 * S} == 0 and Kb == K // 128 and Kc == K // 16"


@ag.kernel(
    threads=THREADS,
    waves=WAVES,
    requires=f"M >= 1 and N >= 1 and N % 128 == 0 and {NEEDS} and Nb == N // 128 and Nt == N // 32",
    computes="C[m, n] = sum(A[m, k] * sa[m, k // 128] * B[n // 32, k // 16, n % 32, k % 16] * "
    "sb[n // 128, k // 128], k)",
    example=dict(M=128, N=256, K=512, Kb=4, Nb=2, Nt=8, Kc=32),
    policy=dict(waves_per_simd=ROOM, agpr="operands"),
)
def fp8_matmul(
    A: ag.In["M K", fp8],
    sa: ag.In["M Kb", f32],
    B: ag.In["Nt Kc r=32 q=16", fp8],
    sb: ag.In["Nb Kb", f32],
    C: ag.Out["M N", bf16],
):
    bm, bn = place(ag.cdiv(M, BM), ag.cdiv(N, BN))
    if bm < ag.cdiv(M, BM):  # the last group may be short
        row, column = bm * BM, bn * BN + 32 * TN * ag.wave()
        last = K // BK

        def fetch_a(kt):
            return A[row, kt * BK].load(MOVE, width=16, guard=kt < last)

        def keep_a(stage, part):
            stage.store(part, width=16)

        def fetch_b(kt):
            return [of_block(kt, last, lambda c: B[column // 32 + j, c]) for j in range(TN)]

        def fetch_s(kt):
            return row_scales(sa, row, kt, last), [sb[column // 128, kt].load(SCALE, width=4 * S, guard=kt < last)]

        acc = product(fetch_a, keep_a, fetch_b, fetch_s, K)
        for i, j in ag.unroll(TM, TN):
            C[row + 32 * i, column + 32 * j].store(acc[i][j].to(bf16), width=8, guard="shape")


def weight(which, n):
    """An element of an expert's weights as stored, times its scale: index notation."""
    at = f"expert[r // {BM}]{which}"
    return f"W[{at}, {n} // 32, k // 16, {n} % 32, k % 16] * sw[{at}, {n} // 128, k // 128]"


TAKEN = "X[token[r], k] * sx[token[r], k // 128]"
GATE = f"sum({TAKEN} * {weight(', 0', 'n')}, k)"
UP = f"sum({TAKEN} * {weight(', 1', 'n')}, k)"
ROWS = f"R == {BM} * P and P >= 1 and E >= 1"


@ag.kernel(
    threads=THREADS,
    waves=WAVES,
    requires=f"T >= 1 and I >= 1 and I % {max(128, BN // 2)} == 0 and {NEEDS} and {ROWS} and "
    "Ib == I // 128 and It == I // 32",
    computes=f"H[r, n] = {GATE} / (1 + exp(-{GATE})) * {UP}",
    example=dict(T=100, K=512, Kb=4, R=2 * BM, P=2, E=3, I=256, Ib=2, It=8, Kc=32),
    policy=dict(waves_per_simd=ROOM, agpr="operands"),
)
def moe_gate_up(
    X: ag.In["T K", fp8],
    sx: ag.In["T Kb", f32],
    token: ag.In["R", i32],
    expert: ag.In["P", i32],
    W: ag.In["E two=2 It Kc r=32 q=16", fp8],
    sw: ag.In["E two=2 Ib Kb", f32],
    H: ag.Out["M=R N=I", bf16],
):
    """Rows gathered by token (T: none, zeros), times gate and up weights of the block's expert; silu(gate) * up."""
    bm, bn = place(P, ag.cdiv(I, BN // 2))
    if bm < P:  # the last group may be short
        row, column = bm * BM, bn * (BN // 2) + 16 * TN * ag.wave()
        last = K // BK
        e = ag.as_index(expert[bm].load(ONE, width=4), 0, E - 1, name="expert")
        moved = [
            ag.as_index(token[row + PASS * p].load(MINE, width=4), 0, T, name=f"moved{p}") for p in range(BM // PASS)
        ]
        held = [ag.as_index(token[row + 32 * i].load(ACC.per("m"), width=4), 0, T, name=f"held{i}") for i in range(TM)]

        def fetch_a(kt):
            return [X[t, kt * BK].load(PART, width=16, guard=kt < last) for t in moved]

        def keep_a(stage, parts):
            for p in range(BM // PASS):
                stage.store(parts[p], row=PASS * p + ag.thread() // 8, width=16)

        def fetch_b(kt):
            return [
                of_block(kt, last, lambda c: W[e, g, column // 32 + j, c]) for g in range(2) for j in range(TN // 2)
            ]

        def fetch_s(kt):
            rows = [sx[t, kt].load(SCALE, width=4 * S, guard=kt < last) for t in held]
            return rows, [sw[e, g, column // 128, kt].load(SCALE, width=4 * S, guard=kt < last) for g in range(2)]

        acc = product(fetch_a, keep_a, fetch_b, fetch_s, K)
        for i, j in ag.unroll(TM, TN // 2):
            gate, up = acc[i][j], acc[i][TN // 2 + j]
            h = gate * ag.rcp(1.0 + ag.exp2(gate * -ag.LOG2E)) * up
            H[row + 32 * i, column + 32 * j].store(h.to(bf16), width=8)


@ag.kernel(
    threads=THREADS,
    waves=WAVES,
    requires=f"N >= 1 and N % {max(128, BN)} == 0 and {NEEDS} and Nb == N // 128 and Nt == N // 32 and {ROWS}",
    computes=f"Y[r, n] = sum(Q[r, k] * sq[r, k // 128] * {weight('', 'n')}, k)",
    example=dict(R=2 * BM, P=2, K=512, Kb=4, E=3, N=256, Nb=2, Nt=8, Kc=32),
    policy=dict(waves_per_simd=ROOM, agpr="operands"),
)
def moe_down(
    Q: ag.In["R K", fp8],
    sq: ag.In["R Kb", f32],
    expert: ag.In["P", i32],
    W: ag.In["E Nt Kc r=32 q=16", fp8],
    sw: ag.In["E Nb Kb", f32],
    Y: ag.Out["M=R N", bf16],
):
    """Sorted rows times the weights of their block's expert."""
    bm, bn = place(P, ag.cdiv(N, BN))
    if bm < P:  # the last group may be short
        row, column = bm * BM, bn * BN + 32 * TN * ag.wave()
        last = K // BK
        e = ag.as_index(expert[bm].load(ONE, width=4), 0, E - 1, name="expert")

        def fetch_a(kt):
            return Q[row, kt * BK].load(MOVE, width=16, guard=kt < last)

        def keep_a(stage, part):
            stage.store(part, width=16)

        def fetch_b(kt):
            return [of_block(kt, last, lambda c: W[e, column // 32 + j, c]) for j in range(TN)]

        def fetch_s(kt):
            return row_scales(sq, row, kt, last), [sw[e, column // 128, kt].load(SCALE, width=4 * S, guard=kt < last)]

        acc = product(fetch_a, keep_a, fetch_b, fetch_s, K)
        for i, j in ag.unroll(TM, TN):
            Y[row + 32 * i, column + 32 * j].store(acc[i][j].to(bf16), width=8)
