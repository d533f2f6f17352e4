"""`matmul` as a custom op, and its gradients by the same kernels: dA = dC B, dB = dCᵀ A.

The kernels take both operands stored by rows or by k, so that nothing is transposed on the way back; the gradient of a
bias is the sum of dC over its rows. An activation is differentiated from the product before it, which is computed
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from argus import ops
from argus.ops.matmul import matmul_sizes
from argus.torch.backward import activation_backward, columnsum
from argus.torch.dlpack import optional, tensor
from argus.torch.gradients import Gradient, SavedOperands
from argus.torch.registration import CustomOperation, register


def matmul(
    a: Any,
    b: Any,
    *,
    bias: Any | None = None,
    activation: str = "none",
    a_by_k: bool = False,
    b_by_k: bool = False,
    device: str = "auto",
) -> torch.Tensor:
    """activation(op(a) @ op(b) + bias): a is [M, K] (`a_by_k`: [K, M]), b is [N, K] (`b_by_k`: [K, N])."""
    made: torch.Tensor = _MATMUL(
        tensor(a, "a"), tensor(b, "b"), optional(bias, "bias"), activation, a_by_k, b_by_k, device
    )
    return made


def _shapes(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None = None,
    activation: str = "none",
    a_by_k: bool = False,
    b_by_k: bool = False,
    device: str = "auto",
) -> torch.Tensor:
    m, n, _ = matmul_sizes(a, b, bias, activation=activation, a_by_k=a_by_k, b_by_k=b_by_k)
    return a.new_empty((m, n), dtype=torch.bfloat16 if a.dtype == torch.float8_e4m3fnuz else a.dtype)


def _gradient(saved: SavedOperands, g: torch.Tensor) -> Mapping[str, torch.Tensor]:
    a, b, bias, activation = saved["a"], saved["b"], saved["bias"], saved["activation"]
    a_by_k, b_by_k, device = saved["a_by_k"], saved["b_by_k"], saved["device"]
    if activation != "none":
        before = matmul(a, b, bias=bias, a_by_k=a_by_k, b_by_k=b_by_k, device=device)
        g = activation_backward(before, g, activation, device=device)
    found: dict[str, torch.Tensor] = {}
    if "a" in saved.wanted and a_by_k:
        found["a"] = matmul(b, g, a_by_k=not b_by_k, device=device)
    elif "a" in saved.wanted:
        found["a"] = matmul(g, b, b_by_k=not b_by_k, device=device)
    if "b" in saved.wanted and b_by_k:
        found["b"] = matmul(a, g, a_by_k=not a_by_k, b_by_k=True, device=device)
    elif "b" in saved.wanted:
        found["b"] = matmul(g, a, a_by_k=True, b_by_k=not a_by_k, device=device)
    if "bias" in saved.wanted:
        found["bias"] = columnsum(g, device=device).to(bias.dtype)
    return found


_MATMUL = register(
    CustomOperation(
        "matmul",
        "(Tensor a, Tensor b, Tensor? bias=None, str activation='none', bool a_by_k=False, bool b_by_k=False, "
        "str device='auto') -> Tensor",
        ops.matmul,
        _shapes,
        Gradient(("a", "b", "bias"), _gradient),
    )
)
