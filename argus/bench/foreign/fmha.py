"""AITER's flash attention forward: O = softmax(scale Q Kᵀ) V per head of 128, in bf16, and the LSE of each row.

Tensors are [batch, sequence, head, 128]; LSE is [batch, head, sequence]. Arguments, 16 bytes each
(csrc/include/mha_fwd.h, struct fmha_fwd_v3_args; filled by csrc/cpp_itfs/mha_fwd.cu):

    O, Q, K, V, LSE, scale, Sq, strides of Q in bytes (row, tile of 256 rows, head, batch), heads per K head, strides
    of K (row, head, batch), tune option (5; with a mask and heads not a multiple of 8: 3), want LSE, Sk, 128, 128,
    heads, strides of V (row, head, batch), strides of O (row, head, batch), starts of Q and K sequences (group mode;
    null), stride of LSE, then padding starts, descales and their strides (null, 0)

Grid (ceil(Sq / 256), heads, batch), 512 threads; with a causal mask a workgroup takes the first and the last of the
remaining tiles, so the first extent is halved. The mask is aligned to the bottom right: row i sees columns up to i +
Sk - Sq. rtne, rtna and rtz say how P is rounded to bf16: to nearest even, to nearest away, toward zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from argus.bench.foreign.case import (
    BF16_NEAREST,
    BF16_TRUNCATED,
    F32_UNIT,
    Builder,
    CaseJudgement,
    ForeignCase,
    Wide,
    judge,
    normal,
    packed,
    summation_error,
    worst,
)

HEAD = 128
TILE_Q = 256
EXP_ERROR = 2.0**-20
"""Relative error allowed to an exponential: v_exp_f32 (1 ulp) of an argument rounded below 2**-21 (for |x| < 64)."""


def case(
    variant: str,
    sq: int,
    sk: int,
    heads: int,
    *,
    k_heads: int = 0,
    batch: int = 1,
    rounding: str = "rtne",
    lse: bool = True,
) -> ForeignCase:
    """`variant` containing "causal" chooses the masked kernel."""
    causal = "causal" in variant
    k_heads = k_heads or heads
    rng = np.random.default_rng(sq + sk + heads)
    q = normal(rng, batch, sq, heads, HEAD)
    k, v = normal(rng, batch, sk, k_heads, HEAD), normal(rng, batch, sk, k_heads, HEAD)
    o, rows = np.zeros_like(q), np.zeros((batch, heads, sq), np.float32)
    scale = float(np.float32(HEAD**-0.5))
    q_row, k_row, head = 2 * heads * HEAD, 2 * k_heads * HEAD, 2 * HEAD
    option = 3 if causal and heads % 8 else 5

    def judged() -> CaseJudgement:
        found = []
        for b in range(batch):
            for h in range(heads):
                group = h * k_heads // heads
                of_head = (q[b, :, h], k[b, :, group], v[b, :, group])
                out, out_bound, row, row_bound = _reference(*of_head, scale, causal, rounding)
                found.append(judge(o[b, :, h], out, out_bound))
                if lse:
                    found.append(judge(rows[b, h], row, row_bound))
        return worst(found)

    args = packed(
        *(o, q, k, v, rows, scale, sq),
        *(q_row, TILE_Q * q_row, head, sq * q_row, heads // k_heads, k_row, head, sk * k_row),
        *(option, int(lse), sk, HEAD, HEAD, heads),
        *(k_row, head, sk * k_row, q_row, head, sq * q_row),
        *(None, None, 4 * sq, None, None, None, None, None, 0, 0, 0, 0, 0, 0),
    )
    tiles = -(-sq // TILE_Q)
    grid = (-(-tiles // 2) if causal else tiles, heads, batch)
    shape = f"B={batch} H={heads}/{k_heads} Sq={sq} Sk={sk}"
    pairs = sq * sk - sq * (sq - 1) // 2 if causal else sq * sk
    return ForeignCase(
        "fmha",
        variant,
        object_path(causal, rounding),
        shape,
        grid,
        512,
        args,
        judged,
        4.0 * batch * heads * pairs * HEAD,
    )


def object_path(causal: bool, rounding: str) -> str:
    return f"fmha_v3_fwd/MI300/fwd_hd128_bf16_{'causal_' if causal else ''}{rounding}.co"


def _reference(
    q: NDArray[np.generic], k: NDArray[np.generic], v: NDArray[np.generic], scale: float, causal: bool, rounding: str
) -> tuple[Wide, Wide, Wide, Wide]:
    """O, its bound, LSE, its bound, of one head."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = scale * (q @ k.T)
    score_error = summation_error(HEAD + 2, scale * (np.abs(q) @ np.abs(k).T))
    if causal:
        seen = np.arange(len(k))[None, :] <= np.arange(len(q))[:, None] + (len(k) - len(q))
        scores = np.where(seen, scores, -np.inf)
    top = scores.max(1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(1, keepdims=True)
    p = weights / total
    relative = score_error.max(1, keepdims=True) + EXP_ERROR
    out = p @ v
    spread = p @ np.abs(v)
    of_p = BF16_NEAREST if rounding != "rtz" else BF16_TRUNCATED
    of_out = BF16_NEAREST if rounding != "rtz" else BF16_TRUNCATED
    sums = 2 * len(k) * F32_UNIT
    bound = of_out * np.abs(out) + (of_p + 2 * relative + sums) * spread
    lse = (top + np.log(total))[:, 0]
    lse_bound = (relative + sums)[:, 0] + 4 * F32_UNIT * np.abs(lse) + 2.0**-20
    return out, bound, lse, lse_bound


def cases(large: bool) -> Iterator[Builder]:
    if large:
        yield partial(case, "plain", 2048, 2048, 4)
        yield partial(case, "causal", 2048, 2048, 4)
        return
    yield partial(case, "plain, LSE", 256, 256, 1)
    yield partial(case, "plain, rtz", 256, 256, 1, rounding="rtz")
    yield partial(case, "plain, rtna", 256, 256, 1, rounding="rtna")
    yield partial(case, "GQA, odd lengths, LSE", 200, 333, 2, k_heads=1)
    yield partial(case, "batch 2, no LSE", 64, 130, 1, batch=2, lse=False)
    yield partial(case, "causal, LSE", 512, 512, 1)
    yield partial(case, "causal, GQA, odd lengths", 300, 427, 8, k_heads=2)
