"""The first product of a mixture of experts in fp8, gate and up with SiLU, as plain as it gets: 32 x 32 per wave.

H[r, n] = silu(gate) * up. Row r is token[r] of X (T: padding, zeros); 128 rows in a row belong to one expert, whose
weights they are multiplied with. A has a scale per row and 128 of K, weights one per 128 x 128. Every turn of the loop
takes 128 of K: fragments straight from global memory, products into sums of their own, scaled into the results.

Weights are stored in blocks of 32 rows x 16 of K, as engines arrange them once when a model is loaded. Sorting tokens
by expert is done before; quantisation, the second product and the sum over experts are kernels of the library.
"""

import argus as ag
from argus import bf16, f32, fp8, i32
from argus.gfx942 import mfma_32x32x16_fp8_fp8 as MMA

TASK = dict(
    family="moe",
    shapes=[dict(T=4096, K=7168, Kb=56, R=18432, P=144, E=32, I=2048, Ib=16, It=64, Kc=448)],
    held_out=[dict(T=640, K=1024, Kb=8, R=2048, P=16, E=5, I=512, Ib=4, It=16, Kc=64)],
    small=[dict(T=700, K=512, Kb=4, R=1024, P=8, E=4, I=256, Ib=2, It=8, Kc=32)],
    routing=dict(token="token", expert="expert", tokens="T", experts="E", rows=128),
    library="fp8_gemm.py: moe_gate_up",
)

FRAG = MMA.operand(wide=16)
ACC = MMA.acc(row="n", col="m")
BLOCK = ag.Owner(lane=64, h=2, e=8, c="lane//32", r="lane%32", q="h*8 + e")
PART = ag.Owner(lane=64, e=16, k="lane//32*16 + e")
ONE = ag.Owner(lane=64, x="lane*0")
SCALE = ag.Owner(lane=64, b="lane*0")


def silu(x):
    return x * ag.rcp(1.0 + ag.exp2(x * -ag.LOG2E))


@ag.kernel(
    threads=64,
    requires="T >= 1 and E >= 1 and P >= 1 and K >= 128 and K % 128 == 0 and I >= 128 and I % 128 == 0 and "
    "R == 128 * P and Kb == K // 128 and Kc == K // 16 and Ib == I // 128 and It == I // 32",
    computes="H[r, n] = sum(X[token[r], k] * sx[token[r], k // 128] * "
    "W[expert[r // 128], 0, n // 32, k // 16, n % 32, k % 16] * sw[expert[r // 128], 0, n // 128, k // 128], k) / "
    "(1 + exp(-sum(X[token[r], k] * sx[token[r], k // 128] * "
    "W[expert[r // 128], 0, n // 32, k // 16, n % 32, k % 16] * sw[expert[r // 128], 0, n // 128, k // 128], k))) * "
    "sum(X[token[r], k] * sx[token[r], k // 128] * "
    "W[expert[r // 128], 1, n // 32, k // 16, n % 32, k % 16] * sw[expert[r // 128], 1, n // 128, k // 128], k)",
    example=dict(T=100, K=256, Kb=2, R=256, P=2, E=3, I=128, Ib=1, It=4, Kc=16),
)
def gate_up(
    X: ag.In["T K", fp8],
    sx: ag.In["T Kb", f32],
    token: ag.In["R", i32],
    expert: ag.In["P", i32],
    W: ag.In["E two=2 It Kc r=32 q=16", fp8],
    sw: ag.In["E two=2 Ib Kb", f32],
    H: ag.Out["M=R N=I", bf16],
):
    bm, bn = ag.grid(R // 32, I // 32)
    e = ag.as_index(expert[32 * bm // 128].load(ONE, width=4), 0, E - 1, name="expert")
    row = ag.as_index(token[32 * bm].load(ACC.per("m"), width=4), 0, T, name="row")
    gate, up = ag.zeros(ACC, f32), ag.zeros(ACC, f32)
    for kb in ag.range(K // 128):
        x = [X[row, 128 * kb + 32 * ks].load(PART, width=16).held_as(FRAG) for ks in range(4)]
        wg = [W[e, 0, bn, 8 * kb + 2 * ks].load(BLOCK, width=16).held_as(FRAG) for ks in range(4)]
        wu = [W[e, 1, bn, 8 * kb + 2 * ks].load(BLOCK, width=16).held_as(FRAG) for ks in range(4)]
        s = sx[row, kb].load(SCALE, width=4).without()
        sg = sw[e, 0, 32 * bn // 128, kb].load(SCALE, width=4).without()
        su = sw[e, 1, 32 * bn // 128, kb].load(SCALE, width=4).without()
        g, u = ag.zeros(ACC, f32), ag.zeros(ACC, f32)
        for ks, h in ag.unroll(4, 2):
            g = ag.mfma(wg[ks][h], x[ks][h], g)
            u = ag.mfma(wu[ks][h], x[ks][h], u)
        gate = ag.fma(g, (s * sg).held_as(ACC.per("m")), gate)
        up = ag.fma(u, (s * su).held_as(ACC.per("m")), up)
    H[32 * bm, 32 * bn].store((silu(gate) * up).to(bf16), width=8)
