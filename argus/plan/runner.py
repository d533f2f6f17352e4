"""A plan carried out: memory for its buffers, then one launch after the other, all proved.

    ready = PreparedPlan(plan)                     every kernel proved and compiled; raises `Unproved`
    outputs = ready.run({"x": x}, {"w": w})

Temporaries lie in one arena at their places, so that a wrong memory plan gives wrong results. Inputs and parameters are
numpy arrays in the element types of the graph; they are not written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.device.guards import numpy_dtype
from argus.ir.types import DTYPES
from argus.ops.launch import ProvedKernel, launched, proved
from argus.plan.graph import PlanError
from argus.plan.meaning import seen
from argus.plan.plan import Plan, PlanBuffer

Memory = dict[str, npt.NDArray[Any]]


class PreparedPlan:
    """A plan with its proved kernels."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.kernels: dict[Any, ProvedKernel] = {}
        for launch in plan.launches:
            if launch.key not in self.kernels:
                self.kernels[launch.key] = proved(launch.path, launch.kernel, launch.knobs)

    def run(
        self,
        inputs: Mapping[str, npt.NDArray[Any]],
        parameters: Mapping[str, npt.NDArray[Any]],
        device: str = "jit",
    ) -> dict[str, npt.NDArray[Any]]:
        """The outputs by name."""
        memory = allocated(self.plan, {**inputs, **parameters})
        for launch in self.plan.launches:
            arrays = {name: seen(memory, view) for name, view in launch.arguments.items()}
            launched(self.kernels[launch.key], arrays, launch.sizes, launch.scalars, device)
        return {name: seen(memory, view).copy() for name, view in self.plan.outputs.items()}


def allocated(plan: Plan, given: Mapping[str, npt.NDArray[Any]]) -> Memory:
    """Memory for all buffers: what is given as it is, temporaries in the arena, the others by themselves."""
    arena = np.full(plan.arena, 0xFF, np.uint8)
    memory: Memory = {}
    for buffer in plan.buffers.values():
        dtype = numpy_dtype(DTYPES[buffer.dtype])
        if buffer.kind in ("input", "parameter"):
            memory[buffer.name] = checked_input(buffer, given)
        elif buffer.kind == "temporary":
            memory[buffer.name] = arena[buffer.place : buffer.place + buffer.bytes].view(dtype)
        else:
            memory[buffer.name] = np.full(buffer.elements, np.nan if buffer.fill is None else buffer.fill, dtype)
    return memory


def checked_input(buffer: PlanBuffer, given: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The array that is given for an input or a parameter, seen flat; refused if it does not fit."""
    dtype = numpy_dtype(DTYPES[buffer.dtype])
    if buffer.name not in given:
        raise PlanError("ARG-G105", f"{buffer.kind} {buffer.name} is not given")
    array = given[buffer.name]
    array = array.view(np.uint8) if array.dtype == np.bool_ else array
    if array.dtype != dtype or array.size != buffer.elements:
        wanted = f"{buffer.elements} elements of {dtype}"
        raise PlanError("ARG-G105", f"{buffer.kind} {buffer.name} is {array.dtype}{list(array.shape)}, not {wanted}")
    return np.ascontiguousarray(array).reshape(-1)
