"""What a plan computes: the composition of its launches' `computes` lines, in float64.

    meaning(plan, {"x": x, "w": w})["y"]

Every launch is replaced by the value of its specification; nothing is executed and nothing is rounded. Compared with
`argus.plan.evaluate`, that says that the plan is the graph: templates, knobs, sizes, views and order are right. That a
kernel computes its line is what its proof says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from argus.plan.plan import Plan, PlannedLaunch
from argus.plan.planner import kernel_of
from argus.plan.views import View
from argus.spec import evaluate

Scalar = TypeVar("Scalar", bound=np.generic)
Array = npt.NDArray[np.float64]


def meaning(plan: Plan, given: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, Array]:
    """The outputs by name; `given`: inputs and parameters by name."""
    memory: dict[str, Array] = {}
    for buffer in plan.buffers.values():
        if buffer.name in given:
            memory[buffer.name] = np.asarray(given[buffer.name], dtype=np.float64).reshape(-1).copy()
        else:
            start = np.nan if buffer.fill is None else buffer.fill
            memory[buffer.name] = np.full(buffer.elements, start)
    for launch in plan.launches:
        carried_out(launch, memory)
    return {name: seen(memory, view).copy() for name, view in plan.outputs.items()}


def carried_out(launch: PlannedLaunch, memory: Mapping[str, Array]) -> None:
    """One launch on buffers of float64."""
    kernel = kernel_of(*launch.key)
    tensors = {t.name: seen(memory, launch.arguments[t.name]) for t in kernel.tensors}
    assert kernel.computes is not None
    symbols = {**launch.sizes, **launch.scalars}
    found = [(r.result, evaluate(r, tensors, symbols).value) for r in kernel.computes.results]
    for name, value in found:
        seen(memory, launch.arguments[name])[...] = value


def seen(memory: Mapping[str, npt.NDArray[Scalar]], view: View) -> npt.NDArray[Scalar]:
    """The elements of a view, as an array over the buffer's memory."""
    buffer = memory[view.buffer]
    steps = tuple(step * buffer.itemsize for step in view.strides)
    return np.lib.stride_tricks.as_strided(buffer[view.offset :], view.shape, steps)
