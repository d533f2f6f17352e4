"""A PyTorch module compiled to a plan: `argus.torch.compile(module, inputs)`.

    model = argus.torch.compile(module, (x,))
    y = model(x)                          the same result, by proved kernels alone
    print(model.plan.text())

The plan is made for the shapes and element types of the inputs given; other ones are refused. Parameters are read from
the module at every call. New values of buffers (running statistics) are outputs of the plan and written back, and a
mask of dropout is an input that torch draws before the run. No operator is handed back to torch: what has no template
is a `PlanError` before anything runs, and a kernel that is not proved is not launched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt
import torch

from argus.ops.arrays import given
from argus.plan.graph import Node
from argus.plan.plan import Plan
from argus.plan.planner import planned
from argus.plan.runner import PreparedPlan
from argus.torch.export import ExportedGraph, graph_of
from argus.torch.module_file import TYPES


class CompiledModule:
    """A module as a plan; called like the module."""

    def __init__(self, exported: ExportedGraph, device: str = "jit", *, allow_xf32: bool = False) -> None:
        self.exported, self.device = exported, device
        self.plan: Plan = planned(exported.graph, allow_xf32=allow_xf32)
        self._ready = PreparedPlan(self.plan)

    def __call__(self, *inputs: torch.Tensor) -> Any:
        """The outputs as tensors; one output stands by itself."""
        nodes, exported = self.exported.graph.nodes, self.exported
        masks = [drawn(nodes[name], share) for name, share in exported.drawn.items()]
        given = dict(zip(exported.graph.inputs, (*inputs, *masks), strict=True))
        arrays = {name: array_of(x, name) for name, x in given.items()}
        found = self._ready.run(arrays, self._parameters(), self.device)
        made = {name: tensor_of(array, nodes[name].dtype) for name, array in found.items()}
        with torch.no_grad():
            for new, old in exported.updates.items():
                (given if old in given else exported.state)[old].copy_(made[new])
            for counter in exported.counters:
                (given if counter in given else exported.state)[counter].add_(1)
        results = [made[name] for name in exported.results]
        return results[0] if len(results) == 1 else tuple(results)

    def _parameters(self) -> Mapping[str, npt.NDArray[Any]]:
        state = self.exported.state
        return {name: array_of(state[name].detach(), name) for name in state if name in self.plan.buffers}


def drawn(node: Node, share: float) -> torch.Tensor:
    """Ones with probability `share`, else zeros, as dropout draws them."""
    return torch.empty(node.shape, dtype=TYPES[node.dtype]).bernoulli_(share)


def compile(
    module: torch.nn.Module, inputs: tuple[Any, ...], device: str = "jit", *, allow_xf32: bool = False
) -> CompiledModule:
    """The module as a plan for inputs of these shapes and types, every kernel proved. `allow_xf32`: f32 products may
    read their operands with 10 mantissa bits, as torch.backends.cuda.matmul.allow_tf32 lets other chips do."""
    return CompiledModule(graph_of(module, inputs), device, allow_xf32=allow_xf32)


def array_of(tensor: torch.Tensor, name: str) -> npt.NDArray[Any]:
    """A tensor on the host as a numpy array of the same elements; refused if its gradient would be lost."""
    found: npt.NDArray[Any] = given(tensor.contiguous(), name)
    return found


def tensor_of(array: npt.NDArray[Any], dtype: str) -> torch.Tensor:
    """The array as a tensor; bf16 through its bits."""
    if dtype == "bf16":
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)
