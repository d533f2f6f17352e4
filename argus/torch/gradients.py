"""How gradients are found: what an op keeps for them, its formula, and the error where there is none.

    Gradient(("x", "y"), lambda saved, g: {"x": mul(g, saved["y"]), "y": mul(g, saved["x"])})

A formula says the gradient of each operand by name, computed by kernels of the library through their own custom ops. An
operand that it leaves out has none: in its place stands the op `no_gradient`, which raises ARG-O102 when it is
executed. It is an op so that torch may trace a backward pass that nobody runs, as `torch.compile` does where parameters
require gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

RESULT = "result"
"""The name under which the first result is kept."""


class NoGradient(RuntimeError):
    """No kernel computes this gradient; `code` is ARG-O102."""

    code = "ARG-O102"

    def __init__(self, operation: str, operand: str) -> None:
        super().__init__(
            f"{self.code}: {operation} has no gradient by {operand}, since no kernel computes it; call it under "
            "torch.no_grad(), or detach the operand"
        )


@dataclass(frozen=True, slots=True)
class KeptCall:
    """What stays of a call, beside its saved tensors: plain arguments, extents and types of all its tensors."""

    plain: Mapping[str, Any]
    extents: Mapping[str, tuple[int, ...]]
    dtypes: Mapping[str, torch.dtype]


@dataclass(frozen=True, slots=True)
class SavedOperands:
    """What a formula sees: kept operands and plain arguments by name, and the names of gradients that are `wanted`."""

    values: Mapping[str, Any]
    call: KeptCall
    wanted: Sequence[str]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


Formula = Callable[..., Mapping[str, torch.Tensor]]
"""From a `SavedOperands` and the gradient of each result to those of operands."""


@dataclass(frozen=True, slots=True)
class Gradient:
    """`keeps`: operands that the formula reads, or RESULT. Operands that the formula leaves out have no gradient."""

    keeps: tuple[str, ...]
    formula: Formula


NONE = Gradient((), lambda saved, *given: {})
"""Of an operation that no kernel differentiates."""


def kept_of(
    gradient: Gradient, operands: Mapping[str, Any], result: torch.Tensor
) -> tuple[KeptCall, list[torch.Tensor | None]]:
    """What is kept of a call, and the tensors to save."""
    tensors = {name: value for name, value in operands.items() if isinstance(value, torch.Tensor)}
    plain = {name: value for name, value in operands.items() if name not in tensors}
    extents = {name: tuple(value.shape) for name, value in tensors.items()}
    saved = [result if name == RESULT else operands[name] for name in gradient.keeps]
    return KeptCall(plain, extents, {name: value.dtype for name, value in tensors.items()}), saved


def gradients_of(
    operation: str,
    gradient: Gradient,
    call: KeptCall,
    saved: Sequence[torch.Tensor | None],
    given: Sequence[torch.Tensor],
    wanted: Sequence[str],
) -> Mapping[str, torch.Tensor]:
    """The gradient of every operand in `wanted`, or in its place an op that raises when it is executed."""
    values = {**call.plain, **dict(zip(gradient.keeps, saved, strict=True))}
    found = dict(gradient.formula(SavedOperands(values, call, wanted), *(g.contiguous() for g in given)))
    for name in wanted:
        if name not in found:
            found[name] = _no_gradient(given[0], list(call.extents[name]), call.dtypes[name], operation, name)
    return found


def _raise(g: torch.Tensor, extents: list[int], dtype: torch.dtype, operation: str, operand: str) -> torch.Tensor:
    raise NoGradient(operation, operand)


def _shape(g: torch.Tensor, extents: list[int], dtype: torch.dtype, operation: str, operand: str) -> torch.Tensor:
    return g.new_empty(extents, dtype=dtype)


_no_gradient = torch.library.custom_op(
    "argus::no_gradient",
    _raise,
    mutates_args=(),
    schema="(Tensor g, SymInt[] extents, ScalarType dtype, str operation, str operand) -> Tensor",
)
_no_gradient.register_fake(_shape)
