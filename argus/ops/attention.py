"""`attention(q, k, v)`: softmax(scale q kᵀ) v for bf16, causal or full, query heads that share key heads."""

from __future__ import annotations

import math
from typing import Any

from argus.ir.kernel import KnobValue
from argus.ops.arrays import blank_like, element, given, shape
from argus.ops.choice import Choice, Unsupported
from argus.ops.launch import run

HEADS = (64, 128)
ROWS, KEYS = 256, 128  # what the kernel without conditions on rows takes in whole


def choose_attention(sq: int, sk: int, d: int, dtype: str, causal: bool) -> Choice:
    """The kernel for these lengths and head dimension."""
    if dtype != "bf16":
        raise Unsupported(f"attention has no kernel for {dtype}; there is bf16")
    if d not in HEADS:
        nearest = min(HEADS, key=lambda known: abs(known - d))
        raise Unsupported(f"attention has no kernel for head dimension {d}; there are 64 and 128, nearest is {nearest}")
    knobs: dict[str, KnobValue] = {"D": d, "RAGGED": sq % ROWS != 0 or sk % KEYS != 0, "causal": causal}
    return Choice("attention", "attention", knobs)


def attention(
    q: Any, k: Any, v: Any, *, causal: bool = False, scale: float | None = None, device: str = "auto"
) -> tuple[Any, Any]:
    """(o, lse) of q [B, H, Sq, D] and k, v [B, HK, Sk, D]; lse is the logarithm of each row's sum, in f32."""
    if len(shape(q)) != 4 or len(shape(k)) != 4 or shape(k) != shape(v):
        raise Unsupported(
            f"attention takes q [B, H, Sq, D] and k, v [B, HK, Sk, D], not {list(shape(q))}, {list(shape(k))} and "
            f"{list(shape(v))}"
        )
    (b, h, sq, d), (bk, hk, sk, dk) = shape(q), shape(k)
    if b != bk or d != dk or hk < 1 or h % hk:
        raise Unsupported(f"q {list(shape(q))} and k {list(shape(k))} disagree: batch and D are equal, HK divides H")
    dtype = element(q, "q")
    if element(k, "k") != dtype or element(v, "v") != dtype:
        raise Unsupported("q, k and v have one element type")
    choice = choose_attention(sq, sk, d, dtype, causal)
    o, lse = blank_like(q, (b, h, sq, d), dtype), blank_like(q, (b, h, sq), "f32")
    z, g = b * hk, h // hk
    arrays = {
        "Q": given(q, "q").reshape(z, g, sq, d),
        "K": given(k, "k").reshape(z, sk, d),
        "V": given(v, "v").reshape(z, sk, d),
        "O": given(o, "o").reshape(z, g, sq, d),
        "L": given(lse, "lse").reshape(z, g, sq),
    }
    scalars = {"scale": 1 / math.sqrt(d) if scale is None else scale}
    run(choice, arrays, {"Z": z, "G": g, "Sq": sq, "Sk": sk}, scalars, device)
    return o, lse
