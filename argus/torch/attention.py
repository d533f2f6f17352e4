"""`attention` and `attention_lengths` as custom ops. The library has no kernel for their gradients.

`starts_q` and `starts_k` of `attention_lengths` (`cu_seqlens`) are read on the host, which decides which workgroup
takes which tile; tensors of them on a GPU are copied at every call.
"""

from __future__ import annotations

from typing import Any

import torch

from argus import ops
from argus.ops.attention import checked_attention, checked_lengths
from argus.torch.dlpack import tensor
from argus.torch.registration import CustomOperation, register

Pair = tuple[torch.Tensor, torch.Tensor]


def attention(
    q: Any, k: Any, v: Any, *, causal: bool = False, scale: float | None = None, device: str = "auto"
) -> Pair:
    """(o, lse) of q [B, H, Sq, D] and k, v [B, HK, Sk, D]; lse is the logarithm of each row's sum, in f32."""
    made: Pair = _ATTENTION(tensor(q, "q"), tensor(k, "k"), tensor(v, "v"), causal, scale, device)
    return made


def attention_lengths(
    q: Any,
    k: Any,
    v: Any,
    starts_q: Any,
    starts_k: Any,
    *,
    causal: bool = False,
    scale: float | None = None,
    device: str = "auto",
) -> Pair:
    """(o, lse) of sequences packed as q [tokens, H, D] and k, v [tokens, HK, D]; lse is [H, tokens]."""
    starts = (torch.as_tensor(starts, dtype=torch.int32) for starts in (starts_q, starts_k))
    made: Pair = _LENGTHS(tensor(q, "q"), tensor(k, "k"), tensor(v, "v"), *starts, causal, scale, device)
    return made


def _shapes(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool = False,
    scale: float | None = None,
    device: str = "auto",
) -> Pair:
    checked_attention(q, k, v)
    return q.new_empty(q.shape), q.new_empty(q.shape[:-1], dtype=torch.float32)


def _packed(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    starts_q: torch.Tensor,
    starts_k: torch.Tensor,
    causal: bool = False,
    scale: float | None = None,
    device: str = "auto",
) -> Pair:
    checked_lengths(q, k, v)
    return q.new_empty(q.shape), q.new_empty((q.shape[1], q.shape[0]), dtype=torch.float32)


_ATTENTION = register(
    CustomOperation(
        "attention",
        "(Tensor q, Tensor k, Tensor v, bool causal=False, float? scale=None, str device='auto') -> (Tensor, Tensor)",
        ops.attention,
        _shapes,
    )
)
_LENGTHS = register(
    CustomOperation(
        "attention_lengths",
        "(Tensor q, Tensor k, Tensor v, Tensor starts_q, Tensor starts_k, bool causal=False, float? scale=None, "
        "str device='auto') -> (Tensor, Tensor)",
        ops.attention_lengths,
        _packed,
    )
)
