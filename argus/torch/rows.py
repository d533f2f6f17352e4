"""Operations on rows and elements as custom ops: softmax, normalisations, reductions, elementwise, transposition.

Gradients are kernels too (`argus.torch.backward`), except that of a maximum, which there is none for. Those of sums are
copies of g along the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from argus import ops
from argus.ops.rows import checked_matrix, checked_pair, checked_rows
from argus.torch.backward import (
    activation_backward,
    columnsum,
    layernorm_backward,
    rmsnorm_backward,
    softmax_backward,
)
from argus.torch.dlpack import tensor
from argus.torch.gradients import NONE, RESULT, Formula, Gradient, SavedOperands
from argus.torch.registration import CustomOperation, register

ONE = "(Tensor x, str device='auto') -> Tensor"
TWO = "(Tensor x, Tensor y, str device='auto') -> Tensor"


def softmax(x: Any, *, device: str = "auto") -> torch.Tensor:
    """exp(x - max) / sum over the last axis."""
    return _called(_SOFTMAX, tensor(x, "x"), device)


def rmsnorm(x: Any, weight: Any, *, eps: float = 1e-6, device: str = "auto") -> torch.Tensor:
    """x * rsqrt(mean(x^2) + eps) * weight over the last axis."""
    return _called(_RMSNORM, tensor(x, "x"), tensor(weight, "weight"), eps, device)


def layernorm(x: Any, weight: Any, bias: Any, *, eps: float = 1e-5, device: str = "auto") -> torch.Tensor:
    """(x - mean) * rsqrt(variance + eps) * weight + bias over the last axis."""
    return _called(_LAYERNORM, tensor(x, "x"), tensor(weight, "weight"), tensor(bias, "bias"), eps, device)


def rowsum(x: Any, *, device: str = "auto") -> torch.Tensor:
    """Sum over the last axis, in f32."""
    return _called(_ROWSUM, tensor(x, "x"), device)


def rowmean(x: Any, *, device: str = "auto") -> torch.Tensor:
    """Mean over the last axis, in f32."""
    return _called(_ROWMEAN, tensor(x, "x"), device)


def rowmax(x: Any, *, device: str = "auto") -> torch.Tensor:
    """Maximum over the last axis, in f32; NaN are passed over. It has no gradient."""
    return _called(_ROWMAX, tensor(x, "x"), device)


def add(x: Any, y: Any, *, device: str = "auto") -> torch.Tensor:
    """x + y."""
    return _called(_ADD, tensor(x, "x"), tensor(y, "y"), device)


def mul(x: Any, y: Any, *, device: str = "auto") -> torch.Tensor:
    """x * y."""
    return _called(_MUL, tensor(x, "x"), tensor(y, "y"), device)


def relu(x: Any, *, device: str = "auto") -> torch.Tensor:
    """max(x, 0); NaN stays NaN."""
    return _called(_RELU, tensor(x, "x"), device)


def silu(x: Any, *, device: str = "auto") -> torch.Tensor:
    """x / (1 + exp(-x))."""
    return _called(_SILU, tensor(x, "x"), device)


def gelu(x: Any, *, device: str = "auto") -> torch.Tensor:
    """x / (1 + exp(-1.5957691 (x + 0.044715 x^3))): the tanh form."""
    return _called(_GELU, tensor(x, "x"), device)


def transpose(x: Any, *, device: str = "auto") -> torch.Tensor:
    """x with its two axes exchanged, written out."""
    return _called(_TRANSPOSE, tensor(x, "x"), device)


def _called(op: Callable[..., Any], *args: Any) -> torch.Tensor:
    made: torch.Tensor = op(*args)
    return made


def _rows(x: torch.Tensor, device: str = "auto") -> torch.Tensor:
    checked_rows("the operation", x)
    return x.new_empty(x.shape)


def _normalised(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    eps: float = 0.0,
    device: str = "auto",
) -> torch.Tensor:
    checked_rows("the normalisation", x, {"W": weight} | ({} if bias is None else {"B": bias}))
    return x.new_empty(x.shape)


def _reduced(x: torch.Tensor, device: str = "auto") -> torch.Tensor:
    checked_rows("the reduction", x)
    return x.new_empty(x.shape[:-1], dtype=torch.float32)


def _elements(x: torch.Tensor, device: str = "auto") -> torch.Tensor:
    checked_pair("the operation", x, x)
    return x.new_empty(x.shape)


def _pair(x: torch.Tensor, y: torch.Tensor, device: str = "auto") -> torch.Tensor:
    checked_pair("the operation", x, y)
    return x.new_empty(x.shape)


def _turned(x: torch.Tensor, device: str = "auto") -> torch.Tensor:
    m, n = checked_matrix(x)
    return x.new_empty((n, m))


def _rmsnorm_gradient(saved: SavedOperands, g: torch.Tensor) -> Mapping[str, torch.Tensor]:
    weight = saved["weight"]
    dx, dw = rmsnorm_backward(saved["x"], weight, g, eps=saved["eps"], device=saved["device"])
    return {"x": dx, "weight": dw.to(weight.dtype)}


def _layernorm_gradient(saved: SavedOperands, g: torch.Tensor) -> Mapping[str, torch.Tensor]:
    weight, device = saved["weight"], saved["device"]
    found: dict[str, torch.Tensor] = {}
    if "bias" in saved.wanted:
        found["bias"] = columnsum(g, device=device).to(weight.dtype)
    if "x" in saved.wanted or "weight" in saved.wanted:
        dx, dw = layernorm_backward(saved["x"], weight, g, eps=saved["eps"], device=device)
        found |= {"x": dx, "weight": dw.to(weight.dtype)}
    return found


def _along_rows(divided: bool) -> Formula:
    """The gradient of a row's sum or mean: g for every element, divided by their number or not."""

    def formula(saved: SavedOperands, g: torch.Tensor) -> Mapping[str, torch.Tensor]:
        extents = saved.call.extents["x"]
        each = g / extents[-1] if divided else g
        return {"x": each.unsqueeze(-1).expand(extents).to(saved.call.dtypes["x"]).contiguous()}

    return formula


def _product_gradient(saved: SavedOperands, g: torch.Tensor) -> Mapping[str, torch.Tensor]:
    others = {"x": "y", "y": "x"}
    return {name: mul(g, saved[others[name]], device=saved["device"]) for name in saved.wanted}


def _activation(name: str, by: str) -> Gradient:
    """The gradient of an activation, from its operand or, where that is enough, its result."""
    return Gradient((by,), lambda saved, g: {"x": activation_backward(saved[by], g, name, device=saved["device"])})


_SOFTMAX = register(
    CustomOperation(
        "softmax",
        ONE,
        ops.softmax,
        _rows,
        Gradient((RESULT,), lambda saved, g: {"x": softmax_backward(saved[RESULT], g, device=saved["device"])}),
    )
)
_RMSNORM = register(
    CustomOperation(
        "rmsnorm",
        "(Tensor x, Tensor weight, float eps=1e-6, str device='auto') -> Tensor",
        ops.rmsnorm,
        _normalised,
        Gradient(("x", "weight"), _rmsnorm_gradient),
    )
)
_LAYERNORM = register(
    CustomOperation(
        "layernorm",
        "(Tensor x, Tensor weight, Tensor bias, float eps=1e-5, str device='auto') -> Tensor",
        ops.layernorm,
        _normalised,
        Gradient(("x", "weight"), _layernorm_gradient),
    )
)
_ROWSUM, _ROWMEAN, _ROWMAX = (
    register(CustomOperation(name, ONE, run, _reduced, gradient))
    for name, run, gradient in (
        ("rowsum", ops.rowsum, Gradient((), _along_rows(divided=False))),
        ("rowmean", ops.rowmean, Gradient((), _along_rows(divided=True))),
        ("rowmax", ops.rowmax, NONE),
    )
)
_ADD = register(CustomOperation("add", TWO, ops.add, _pair, Gradient((), lambda saved, g: {"x": g, "y": g})))
_MUL = register(CustomOperation("mul", TWO, ops.mul, _pair, Gradient(("x", "y"), _product_gradient)))
_RELU = register(CustomOperation("relu", ONE, ops.relu, _elements, _activation("relu", RESULT)))
_SILU = register(CustomOperation("silu", ONE, ops.silu, _elements, _activation("silu", "x")))
_GELU = register(CustomOperation("gelu", ONE, ops.gelu, _elements, _activation("gelu", "x")))
_TRANSPOSE = register(
    CustomOperation(
        "transpose",
        ONE,
        ops.transpose,
        _turned,
        Gradient((), lambda saved, g: {"x": transpose(g, device=saved["device"])}),
    )
)
