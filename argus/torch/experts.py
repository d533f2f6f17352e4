"""fp8 with block scales and the mixture of experts as custom ops. None has a gradient: fp8 is for inference."""

from __future__ import annotations

from typing import Any

import torch

from argus import ops
from argus.ops.fp8 import BLOCK, DEPTH, ROWS, checked_blocks, checked_weights, fp8_sizes
from argus.ops.moe import moe_sizes
from argus.torch.dlpack import optional, tensor
from argus.torch.registration import CustomOperation, register


def arranged(weights: Any) -> torch.Tensor:
    """Weights [.., N, K] in the kernels' order: [.., N // 32, K // 16, 32, 16]."""
    made: torch.Tensor = _ARRANGED(tensor(weights, "weights"))
    return made


def quantise(x: Any, *, device: str = "auto") -> tuple[torch.Tensor, torch.Tensor]:
    """fp8 values and the scale of every 128 neighbours: the largest of them divided by 240."""
    made: tuple[torch.Tensor, torch.Tensor] = _QUANTISE(tensor(x, "x"), device)
    return made


def fp8_matmul(a: Any, a_scales: Any, b: Any, b_scales: Any, *, device: str = "auto") -> torch.Tensor:
    """bf16 [M, N] of a [M, K] and b [N, K] (or arranged), scales [M, K / 128] and [N / 128, K / 128]."""
    made: torch.Tensor = _FP8_MATMUL(
        tensor(a, "a"), tensor(a_scales, "a_scales"), tensor(b, "b"), tensor(b_scales, "b_scales"), device
    )
    return made


def moe(
    x: Any,
    w_gate_up: Any,
    w_down: Any,
    gate_up_scales: Any,
    down_scales: Any,
    topk_ids: Any,
    topk_weights: Any,
    *,
    x_scales: Any | None = None,
    device: str = "auto",
) -> torch.Tensor:
    """bf16 [T, dim]; operands as for `argus.ops.moe`. `topk_ids` are read on the host."""
    made: torch.Tensor = _MOE(
        tensor(x, "x"),
        tensor(w_gate_up, "w_gate_up"),
        tensor(w_down, "w_down"),
        tensor(gate_up_scales, "gate_up_scales"),
        tensor(down_scales, "down_scales"),
        tensor(topk_ids, "topk_ids"),
        tensor(topk_weights, "topk_weights"),
        optional(x_scales, "x_scales"),
        device,
    )
    return made


def _arrange(weights: torch.Tensor) -> torch.Tensor:
    """Never a view of the operand, which a custom op may not give; without elements it would be one."""
    made: torch.Tensor = ops.arranged(weights)
    return made if made.numel() else _arranged_shape(weights)


def _arranged_shape(weights: torch.Tensor) -> torch.Tensor:
    *outer, n, k = checked_weights(weights)
    return weights.new_empty((*outer, n // ROWS, k // DEPTH, ROWS, DEPTH))


def _quantised(x: torch.Tensor, device: str = "auto") -> tuple[torch.Tensor, torch.Tensor]:
    *outer, k = checked_blocks(x)
    values = x.new_empty(x.shape, dtype=torch.float8_e4m3fnuz)
    return values, x.new_empty((*outer, k // BLOCK), dtype=torch.float32)


def _product(
    a: torch.Tensor, a_scales: torch.Tensor, b: torch.Tensor, b_scales: torch.Tensor, device: str = "auto"
) -> torch.Tensor:
    m, n, _ = fp8_sizes(a, a_scales, b, b_scales)
    return a.new_empty((m, n), dtype=torch.bfloat16)


def _layer(
    x: torch.Tensor,
    w_gate_up: torch.Tensor,
    w_down: torch.Tensor,
    gate_up_scales: torch.Tensor,
    down_scales: torch.Tensor,
    topk_ids: torch.Tensor,
    topk_weights: torch.Tensor,
    x_scales: torch.Tensor | None = None,
    device: str = "auto",
) -> torch.Tensor:
    moe_sizes(x, w_gate_up, w_down, gate_up_scales, down_scales, topk_ids, topk_weights, x_scales=x_scales)
    return x.new_empty(x.shape, dtype=torch.bfloat16)


_ARRANGED = register(CustomOperation("arranged", "(Tensor weights) -> Tensor", _arrange, _arranged_shape))
_QUANTISE = register(
    CustomOperation("quantise", "(Tensor x, str device='auto') -> (Tensor, Tensor)", ops.quantise, _quantised)
)
_FP8_MATMUL = register(
    CustomOperation(
        "fp8_matmul",
        "(Tensor a, Tensor a_scales, Tensor b, Tensor b_scales, str device='auto') -> Tensor",
        ops.fp8_matmul,
        _product,
    )
)
_MOE = register(
    CustomOperation(
        "moe",
        "(Tensor x, Tensor w_gate_up, Tensor w_down, Tensor gate_up_scales, Tensor down_scales, Tensor topk_ids, "
        "Tensor topk_weights, Tensor? x_scales=None, str device='auto') -> Tensor",
        ops.moe,
        _layer,
    )
)
