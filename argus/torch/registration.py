"""One operation as a custom op of torch: what it runs, what shapes it gives, what its gradient is.

    relu = register(CustomOperation("relu", "(Tensor x, str device='auto') -> Tensor", ops.relu, shapes, RELU))
    relu(x)                     or torch.ops.argus.relu(x)

Schemas have no keyword-only arguments, so that a gradient belongs to each of them, and no op writes to its operands.
`shapes` takes the same arguments without data and gives unwritten results: torch calls it for fake and meta tensors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from argus.device.guards import LaunchRefused
from argus.torch.gradients import NONE, Gradient, gradients_of, kept_of

NAMESPACE = "argus"


@dataclass(frozen=True, slots=True)
class CustomOperation:
    """`schema` is in torch's notation. `run` and `shapes` take its arguments by name; torch leaves out those at the end
    that have their default values, so both have the same defaults."""

    name: str
    schema: str
    run: Callable[..., Any]
    shapes: Callable[..., Any]
    gradient: Gradient = NONE
    arguments: tuple[str, ...] = ()
    """Their names, where `run` does not state them."""


def register(operation: CustomOperation) -> Callable[..., Any]:
    """The operation as `torch.ops.argus.<name>`; returns it."""
    names = operation.arguments or tuple(inspect.signature(operation.run).parameters)

    def by_name(args: tuple[Any, ...]) -> dict[str, Any]:
        named = dict(zip(names, args, strict=False))
        on_one_device(named)
        return named

    def run(*args: Any) -> Any:
        return operation.run(**by_name(args))

    def shapes(*args: Any) -> Any:
        return operation.shapes(**by_name(args))

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        result = output[0] if isinstance(output, tuple) else output
        ctx.call, saved = kept_of(operation.gradient, dict(zip(names, inputs, strict=True)), result)
        ctx.save_for_backward(*saved)

    def backward(ctx: Any, *given: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        passed = names[: len(ctx.needs_input_grad)]
        wanted = [name for name, needed in zip(passed, ctx.needs_input_grad, strict=True) if needed]
        found = gradients_of(operation.name, operation.gradient, ctx.call, ctx.saved_tensors, given, wanted)
        return tuple(found.get(name) for name in passed)

    made = torch.library.custom_op(f"{NAMESPACE}::{operation.name}", run, mutates_args=(), schema=operation.schema)
    made.register_fake(shapes)
    made.register_autograd(backward, setup_context=setup_context)
    found: Callable[..., Any] = getattr(getattr(torch.ops, NAMESPACE), operation.name)
    return found


def on_one_device(operands: dict[str, Any]) -> None:
    """Refuse operands on different devices; whole numbers may lie elsewhere, since they are read on the host."""
    places = {
        name: str(value.device)
        for name, value in operands.items()
        if isinstance(value, torch.Tensor) and value.dtype.is_floating_point
    }
    if len(set(places.values())) > 1:
        listed = ", ".join(f"{name} on {place}" for name, place in places.items())
        raise LaunchRefused(f"the operands are on different devices: {listed}; move them to one", "ARG-D106")
