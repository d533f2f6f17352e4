"""The gradients of `argus.ops.backward` as custom ops, so that torch can trace a backward pass.

They have no gradients themselves: a second derivative through them ends in ARG-O102.
"""

from __future__ import annotations

from typing import Any

import torch

from argus import ops
from argus.ops.backward import checked_activation
from argus.ops.rows import checked_pair, checked_rows
from argus.torch.dlpack import tensor
from argus.torch.registration import CustomOperation, register


def columnsum(x: Any, *, device: str = "auto") -> torch.Tensor:
    """Sum over all axes but the last, in f32."""
    made: torch.Tensor = _COLUMNSUM(tensor(x, "x"), device)
    return made


def softmax_backward(y: Any, g: Any, *, device: str = "auto") -> torch.Tensor:
    """y * (g - sum(g * y)) over the last axis, y being the softmax."""
    made: torch.Tensor = _SOFTMAX(tensor(y, "y"), tensor(g, "g"), device)
    return made


def rmsnorm_backward(
    x: Any, weight: Any, g: Any, *, eps: float = 1e-6, device: str = "auto"
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of x and of the weight (f32)."""
    made: tuple[torch.Tensor, torch.Tensor] = _RMSNORM(
        tensor(x, "x"), tensor(weight, "weight"), tensor(g, "g"), eps, device
    )
    return made


def layernorm_backward(
    x: Any, weight: Any, g: Any, *, eps: float = 1e-5, device: str = "auto"
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of x and of the weight (f32); that of the bias is `columnsum(g)`."""
    made: tuple[torch.Tensor, torch.Tensor] = _LAYERNORM(
        tensor(x, "x"), tensor(weight, "weight"), tensor(g, "g"), eps, device
    )
    return made


def activation_backward(x: Any, g: Any, activation: str, *, device: str = "auto") -> torch.Tensor:
    """g times the derivative of an activation (relu, silu or gelu) at x."""
    made: torch.Tensor = _ACTIVATION(tensor(x, "x"), tensor(g, "g"), activation, device)
    return made


def _columns(x: torch.Tensor, device: str = "auto") -> torch.Tensor:
    _, n = checked_rows("columnsum", x)
    return x.new_empty((n,), dtype=torch.float32)


def _softmax_shapes(y: torch.Tensor, g: torch.Tensor, device: str = "auto") -> torch.Tensor:
    checked_pair("softmax_backward", y, g)
    checked_rows("softmax_backward", y)
    return y.new_empty(y.shape)


def _normalised(
    x: torch.Tensor, weight: torch.Tensor, g: torch.Tensor, eps: float = 1e-6, device: str = "auto"
) -> tuple[torch.Tensor, torch.Tensor]:
    checked_pair("the gradient of a normalisation", x, g)
    checked_rows("the gradient of a normalisation", x, {"W": weight})
    return x.new_empty(x.shape), x.new_empty(weight.shape, dtype=torch.float32)


def _activated(x: torch.Tensor, g: torch.Tensor, activation: str, device: str = "auto") -> torch.Tensor:
    checked_activation(x, g, activation)
    return x.new_empty(x.shape)


_COLUMNSUM = register(CustomOperation("columnsum", "(Tensor x, str device='auto') -> Tensor", ops.columnsum, _columns))
_SOFTMAX = register(
    CustomOperation(
        "softmax_backward",
        "(Tensor y, Tensor g, str device='auto') -> Tensor",
        ops.softmax_backward,
        _softmax_shapes,
    )
)
_NORMALISED = "(Tensor x, Tensor weight, Tensor g, float eps={eps}, str device='auto') -> (Tensor, Tensor)"
_RMSNORM = register(
    CustomOperation("rmsnorm_backward", _NORMALISED.format(eps=1e-6), ops.rmsnorm_backward, _normalised)
)
_LAYERNORM = register(
    CustomOperation("layernorm_backward", _NORMALISED.format(eps=1e-5), ops.layernorm_backward, _normalised)
)
_ACTIVATION = register(
    CustomOperation(
        "activation_backward",
        "(Tensor x, Tensor g, str activation, str device='auto') -> Tensor",
        ops.activation_backward,
        _activated,
    )
)
