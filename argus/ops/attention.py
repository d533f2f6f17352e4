"""`attention(q, k, v)`: softmax(scale q kᵀ) v for bf16, causal or full, query heads that share key heads.

`attention_lengths(q, k, v, starts_q, starts_k)` does it for sequences of different lengths, packed one behind the other
as [tokens, heads, D]; `starts` are their first tokens and the end (`cu_seqlens`). Which tile of which sequence a
workgroup takes is decided here, the longest first, so the starts must be known on the host.

Without queries the results are empty; without keys every row is 0 and its logarithm -inf, as in rows that see no key.
"""

from __future__ import annotations

import math
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.ir.kernel import KnobValue
from argus.ops.arrays import blank_like, element, filled_like, given, is_tensor, on_host, shape, whole_numbers
from argus.ops.choice import LIMIT, Choice, NoKernel, reachable, table
from argus.ops.launch import run

HEADS = (64, 128)
ROWS, KEYS = 256, 128  # what the kernel without conditions on rows takes in whole
Starts = npt.NDArray[np.int32]


def choose_attention(sq: int, sk: int, d: int, dtype: str, causal: bool) -> Choice:
    """The kernel for these lengths and head dimension: the row of `attention.json` nearest in the number of queries."""
    _known_heads(dtype, d)
    knobs: dict[str, KnobValue] = {"D": d, "RAGGED": sq % ROWS != 0 or sk % KEYS != 0, "causal": causal}
    if not knobs["RAGGED"] and d == 128:
        row = min(table("attention")["rows"], key=lambda row: abs(math.log2(row["S"] / sq)))
        knobs |= row["knobs"]
    return Choice("attention", "attention", knobs)


def attention(
    q: Any, k: Any, v: Any, *, causal: bool = False, scale: float | None = None, device: str = "auto"
) -> tuple[Any, Any]:
    """(o, lse) of q [B, H, Sq, D] and k, v [B, HK, Sk, D]; lse is the logarithm of each row's sum, in f32."""
    checked_attention(q, k, v)
    (b, h, sq, d), (_, hk, sk, _) = shape(q), shape(k)
    dtype = element(q, "q")
    choice = choose_attention(sq or 1, sk or 1, d, dtype, causal)
    reachable({"q": 2 * b * h * sq * d, "k": 2 * b * hk * sk * d}, _fewer(max(h * sq, hk * sk) * d, "batches"))
    if 0 in (b, h, sq, sk):
        return filled_like(q, (b, h, sq, d), dtype, 0.0), filled_like(q, (b, h, sq), "f32", -math.inf)
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


def checked_attention(q: Any, k: Any, v: Any) -> None:
    """Refuse operands that do not fit together; nothing but their types and extents is asked."""
    if len(shape(q)) != 4 or len(shape(k)) != 4 or shape(k) != shape(v):
        raise NoKernel(
            f"attention takes q [B, H, Sq, D] and k, v [B, HK, Sk, D], not {list(shape(q))}, {list(shape(k))} and "
            f"{list(shape(v))}"
        )
    (b, h, _, d), (bk, hk, _, dk) = shape(q), shape(k)
    if b != bk or d != dk or not _shared(h, hk):
        raise NoKernel(f"q {list(shape(q))} and k {list(shape(k))} disagree: batch and D are equal, HK divides H")
    _checked_heads(q, k, v, d)


def _checked_heads(q: Any, k: Any, v: Any, d: int) -> None:
    dtype = element(q, "q")
    if element(k, "k") != dtype or element(v, "v") != dtype:
        raise NoKernel("q, k and v have one element type")
    _known_heads(dtype, d)


def _known_heads(dtype: str, d: int) -> None:
    if dtype != "bf16":
        raise NoKernel(f"attention has no kernel for {dtype}; there is bf16")
    if d not in HEADS:
        nearest = min(HEADS, key=lambda known: abs(known - d))
        raise NoKernel(f"attention has no kernel for head dimension {d}; there are 64 and 128, nearest is {nearest}")


def _shared(h: int, hk: int) -> bool:
    """Whether all key heads are shared by the same number of query heads; without heads nothing is."""
    return h % hk == 0 if hk else h == 0


def _fewer(elements: int, what: str) -> str:
    """The nearest that kernels reach, of things with so many elements each."""
    most = (LIMIT - 1) // max(2 * elements, 1)
    return f"nearest is {most} {what} at a time" if most else "take fewer heads at a time"


def attention_lengths(
    q: Any,
    k: Any,
    v: Any,
    starts_q: npt.ArrayLike,
    starts_k: npt.ArrayLike,
    *,
    causal: bool = False,
    scale: float | None = None,
    device: str = "auto",
) -> tuple[Any, Any]:
    """(o, lse) of q [tokens, H, D] and k, v [tokens, HK, D]; lse is [H, tokens]. Sequence b has the queries from
    starts_q[b] to starts_q[b + 1] - 1 and the keys from starts_k[b] to starts_k[b + 1] - 1."""
    checked_lengths(q, k, v)
    (tq, h, d), (tk, hk, _) = shape(q), shape(k)
    dtype = element(q, "q")
    first_q, first_k = checked_starts("starts_q", starts_q, tq), checked_starts("starts_k", starts_k, tk)
    if len(first_q) != len(first_k):
        raise NoKernel(f"{len(first_q) - 1} sequences of queries, {len(first_k) - 1} of keys")
    plain = choose_attention(1, 1, d, dtype, causal)
    knobs: dict[str, KnobValue] = {"D": d, "causal": causal, "BC": 32 if d == 128 else 64}
    choice = Choice(plain.file, "attention_lengths", knobs)
    reachable({"q": 2 * tq * h * d, "k": 2 * tk * hk * d}, _fewer(max(h, hk) * d, "tokens"))
    if 0 in (tq, h, tk):
        return filled_like(q, (tq, h, d), dtype, 0.0), filled_like(q, (h, tq), "f32", -math.inf)
    o, lse = blank_like(q, (tq, h, d), dtype), blank_like(q, (h, tq), "f32")
    g = h // hk
    numbers = numbers_of(first_q, first_k, causal)
    arrays = {
        "Q": given(q, "q").reshape(tq, hk, g, d),
        "K": given(k, "k"),
        "V": given(v, "v"),
        "O": given(o, "o").reshape(tq, hk, g, d),
        "L": given(lse, "lse").reshape(hk, g, tq),
        **{name: _beside(q, value) for name, value in numbers.items()},
    }
    tiles = len(numbers["Tiles"])
    sizes = {"Tq": tq, "HK": hk, "G": g, "Tk": tk, "B": len(first_q) - 1, "W": tiles, "W1": tiles + 1}
    run(choice, arrays, sizes, {"scale": 1 / math.sqrt(d) if scale is None else scale}, device)
    return o, lse


def checked_lengths(q: Any, k: Any, v: Any) -> None:
    """Refuse packed operands that do not fit together; nothing but their types and extents is asked."""
    if len(shape(q)) != 3 or len(shape(k)) != 3 or shape(k) != shape(v):
        raise NoKernel(
            f"attention_lengths takes q [tokens, H, D] and k, v [tokens, HK, D], not {list(shape(q))}, "
            f"{list(shape(k))} and {list(shape(v))}"
        )
    (_, h, d), (_, hk, dk) = shape(q), shape(k)
    if d != dk or not _shared(h, hk):
        raise NoKernel(f"q {list(shape(q))} and k {list(shape(k))} disagree: D is equal, HK divides H")
    _checked_heads(q, k, v, d)


def _beside(q: Any, numbers: npt.NDArray[np.int32]) -> Any:
    """The numbers where q is: on the GPU for tensors there."""
    if not is_tensor(q) or on_host(q):
        return numbers
    return import_module("torch").from_numpy(numbers).to(q.device)


def checked_starts(name: str, starts: npt.ArrayLike, tokens: int) -> Starts:
    """Starts that divide the tokens into sequences; what the kernel assumes of them."""
    found = whole_numbers(starts, name)
    if found.ndim != 1 or len(found) < 2 or found[0] != 0 or found[-1] != tokens or (found[1:] < found[:-1]).any():
        raise NoKernel(f"{name} begins with 0, never falls and ends with the {tokens} tokens; it is {found.tolist()}")
    return np.ascontiguousarray(found, np.int32)


def numbers_of(first_q: Starts, first_k: Starts, causal: bool) -> dict[str, Starts]:
    """What the kernel reads about sequences and tiles; all it states of them holds here.

    Tiles of at most 256 queries of one sequence, in order: tile i is of the rows Row[i] … Row[i + 1] - 1. Workgroup w
    takes the tile Tiles[w, 0], of sequence Tiles[w, 1], those that see most keys first; Place leads back from it.
    """
    tiles: list[tuple[int, int, int]] = []
    for b, (start, end) in enumerate(pairwise(first_q.tolist())):
        keys = int(first_k[b + 1] - first_k[b])
        for row in range(start, end, ROWS):
            last = min(row + ROWS, end)
            tiles.append((row, b, min(max(last - end + keys, 0), keys) if causal else keys))
    order = sorted(range(len(tiles)), key=lambda i: -tiles[i][2])
    made = {
        "Seq": np.repeat(np.arange(len(first_q) - 1), np.diff(first_q)),
        "StartK": first_k[:-1],
        "EndK": first_k[1:],
        "EndQ": first_q[1:],
        "Row": [*(row for row, _, _ in tiles), int(first_q[-1])],
        "Tiles": [(i, tiles[i][1]) for i in order],
        "Place": np.argsort(order),
    }
    return {name: np.array(values, np.int32) for name, values in made.items()}
