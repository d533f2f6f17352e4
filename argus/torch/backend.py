"""`torch.compile(module, backend="argus")`: graphs that torch traces, as plans.

    import argus.torch                                  registers the backend
    model = torch.compile(module, backend="argus", dynamic=False)
    with torch.no_grad():
        y = model(x)

Torch traces the module; parameters are inputs of what it hands over. Each graph is exported as a module is, so that
operators which templates know as a whole stay whole, and becomes a plan for the sizes it was traced with. Nothing falls
back to torch: what has no template ends the compilation with its `PlanError`. Gradients are not computed; a call that
would lose one is refused (ARG-O103), so call it under `torch.no_grad()`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dynamo import register_backend
from torch.fx import GraphModule

from argus.plan.graph import PlanError
from argus.torch.compiled import CompiledModule
from argus.torch.export import graph_of


def backend(traced: GraphModule, inputs: Sequence[Any]) -> Callable[..., list[Any]]:
    """A traced graph as a function of its inputs; what `torch.compile` calls."""
    if not all(isinstance(x, torch.Tensor) for x in inputs):
        raise PlanError("ARG-G103", "sizes that change from call to call have no plan; pass dynamic=False")
    compiled = CompiledModule(graph_of(traced, tuple(torch.empty_like(x, device="meta") for x in inputs)))

    def run(*given: torch.Tensor) -> list[Any]:
        found = compiled(*given)
        return [found] if isinstance(found, torch.Tensor) else list(found)

    return run


register_backend(compiler_fn=backend, name="argus")
